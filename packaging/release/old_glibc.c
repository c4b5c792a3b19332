/* A function of the mathematical library in the version that it had before glibc 2.29: ld's --wrap
 * puts it in the place of the new one, so that what is built with glibc 2.31 starts on 2.28
 * (build.sh). The two differ in errno alone. -DNAME=log; -DPARAMETERS=2 for pow. */
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)
#define WRAP        JOIN(__wrap_, NAME)

#ifdef __x86_64__
__asm__(".symver first," TEXT(NAME) "@GLIBC_2.2.5");
#else
__asm__(".symver first," TEXT(NAME) "@GLIBC_2.17");
#endif

#if PARAMETERS == 2
double first(double, double);
double WRAP(double, double);
double WRAP(double x, double y)
{
    return first(x, y);
}
#else
double first(double);
double WRAP(double);
double WRAP(double x)
{
    return first(x);
}
#endif
