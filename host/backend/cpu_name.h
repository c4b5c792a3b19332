/* The processor's model. */
#ifndef TP_BACKEND_CPU_NAME_H
#define TP_BACKEND_CPU_NAME_H

#define CPU_NAME 128

/* "Intel(R) Xeon(R) Gold 6430"; of ARM processors, which give numbers only, "implementer 0x41, part
 * 0xd0c"; "" where the system tells neither. */
void cpu_name(char out[CPU_NAME]);

#endif
