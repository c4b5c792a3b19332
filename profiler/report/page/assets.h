/* The page's parts, made from assets/ by the build (embed.cmake). */
#ifndef TP_REPORT_PAGE_ASSETS_H
#define TP_REPORT_PAGE_ASSETS_H

extern const char report_page[], report_style[], report_script[];

#endif
