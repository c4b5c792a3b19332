/* Elements and attributes of the XML that microscopes write. It is not a parser: whatever looks like
 * an element is one, in comments too. Any text is safe. */
#ifndef TP_STORE_FORMAT_XML_H
#define TP_STORE_FORMAT_XML_H

#include <stddef.h>

/* The next element of that name, from its `<` on; prefixes of name spaces ("ome:") are left out.
 * NULL: none. */
const char *xml_element(const char *text, const char *name);
/* Value of an attribute of the element that begins at `element`, cut to room, the five entities
 * replaced. 0: it is not there. */
int xml_attribute(const char *element, const char *name, char *out, size_t room);
/* A positive finite number; 0: it is not there, or is not one. */
double xml_number(const char *element, const char *name);

#endif
