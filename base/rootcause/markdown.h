/* rootcause.md. */
#ifndef TP_ROOTCAUSE_MARKDOWN_H
#define TP_ROOTCAUSE_MARKDOWN_H

#include <stdio.h>

#include "base/rootcause/rootcause.h"

void rootcause_markdown(const struct rootcause *r, FILE *out);

#endif
