/* 110 million blocks: freed at once, and a list that is built and freed. Its length changes: rounds
 * of always 4 ms keep step with the kernel's tick, at which samples are taken. */
#include "truth.h"
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
};

static struct node *volatile keep; /* or the compiler leaves both calls out */

static long churn(long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++) {
        struct node *p = malloc(16 + (size_t)(i & 15) * 16); /* truth: churn */
        keep = p;                                            /* truth: churn */
        sum += keep == p;                                    /* truth: churn */
        free(p);                                             /* truth: churn */
    }
    return sum;
}

static struct node *build(long n)
{
    struct node *list = NULL;
    for (long i = 0; i < n; i++) {
        struct node *p = malloc(sizeof *p); /* truth: build */
        p->next = list;                     /* truth: build */
        p->value = i;                       /* truth: build */
        list = p;
    }
    return list;
}

static long drop(struct node *list)
{
    long sum = 0;
    while (list) {
        struct node *next = list->next; /* truth: drop */
        sum += list->value;             /* truth: drop */
        free(list);                     /* truth: drop */
        list = next;                    /* truth: drop */
    }
    return sum;
}

int main(void)
{
    long sum = 0;
    truth_begin("churn");
    sum += churn(60000000);
    truth_end("churn");
    for (int i = 0; i < 500; i++) {
        truth_begin("build");
        struct node *list = build(50000 + i * 7919 % 100000);
        truth_end("build");
        truth_begin("drop");
        sum += drop(list);
        truth_end("drop");
    }
    printf("%ld\n", sum);
    return 0;
}
