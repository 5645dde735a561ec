// The bounds-checked C functions that CANN's host code uses. On a wrong size they do nothing and return an error.
#pragma once
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef int errno_t;
#ifndef EOK
#define EOK 0
#endif
#define SECUREC_MEM_MAX_LEN 0x7fffffffUL
#define SECUREC_STRING_MAX_LEN 0x7fffffffUL

static inline errno_t memset_s(void* to, size_t room, int value, size_t count) {
    if (!to) return EINVAL;
    if (count > room) return ERANGE;
    memset(to, value, count);
    return EOK;
}
static inline errno_t memcpy_s(void* to, size_t room, const void* from, size_t count) {
    if (!to || !from) return EINVAL;
    if (count > room) return ERANGE;
    memcpy(to, from, count);
    return EOK;
}
static inline errno_t memmove_s(void* to, size_t room, const void* from, size_t count) {
    if (!to || !from) return EINVAL;
    if (count > room) return ERANGE;
    memmove(to, from, count);
    return EOK;
}
static inline errno_t strncpy_s(char* to, size_t room, const char* from, size_t count) {
    if (!to || !from || !room) return EINVAL;
    size_t n = strnlen(from, count);
    if (n >= room) return ERANGE;
    memcpy(to, from, n);
    to[n] = 0;
    return EOK;
}
static inline errno_t strcpy_s(char* to, size_t room, const char* from) {
    return from ? strncpy_s(to, room, from, strlen(from)) : EINVAL;
}
static inline errno_t strcat_s(char* to, size_t room, const char* from) {
    size_t have = to ? strnlen(to, room) : 0;
    return to && have < room ? strcpy_s(to + have, room - have, from) : EINVAL;
}
static inline int vsnprintf_s(char* to, size_t room, size_t count, const char* format, va_list args) {
    if (!to || !format || !room) return -1;
    int n = vsnprintf(to, room, format, args);
    return n < 0 || (size_t)n >= room || (size_t)n > count ? -1 : n;
}
static inline int snprintf_s(char* to, size_t room, size_t count, const char* format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf_s(to, room, count, format, args);
    va_end(args);
    return n;
}
static inline int sprintf_s(char* to, size_t room, const char* format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf_s(to, room, room, format, args);
    va_end(args);
    return n;
}
