"""The cases of scripts/abuse_trial.py, which states the rule: families, bodies, places, and the draw."""

# ruff: noqa: E501 - C++ and tables, a case a line

from __future__ import annotations

import random
import re

KERNEL = """#include "kernel_operator.h"
%(head)s
%(load)s
extern "C" __global__ __aicore__ void abuse(GM_ADDR x, GM_ADDR z)
{
    using namespace AscendC;
    %(before)s
    if (GetBlockIdx() == 0) {
        GlobalTensor<int32_t> from, to;
        from.SetGlobalBuffer((__gm__ int32_t*)x, 64);
        to.SetGlobalBuffer((__gm__ int32_t*)z, 64);
        TPipe pipe;
        TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
        pipe.InitBuffer(queue, 1, 256);
        auto in = queue.AllocTensor<int32_t>();
        DataCopy(in, from, 64);
        queue.EnQue(in);
        auto out = queue.DeQue<int32_t>();
        DataCopy(to, out, 64);
        queue.FreeTensor(out);
    } else {
        %(other)s
    }
    %(after)s
}
"""
PLACES = ("before", "after", "other", "load")
HEAD = "\n".join(
    f"#include <{h}>"
    for h in "unistd.h signal.h stdio.h stdlib.h string.h fcntl.h pthread.h sys/mman.h sys/wait.h sys/socket.h sched.h errno.h "
    "sys/stat.h sys/ptrace.h sys/resource.h sys/uio.h arpa/inet.h".split()
)
PATH = 'char p[2048]; snprintf(p, sizeof p, "%%s/%s", getenv("ABUSE_OUTSIDE")); '
# family -> (fatal?, body). N is replaced by a drawn number.
KERNELS: dict[str, list[tuple[bool, str]]] = {
    "crash": [
        (True, "*(volatile int*)(unsigned long)N = 1;"),
        (True, "volatile int zero = 0; volatile int q = N / zero; (void)q;"),
        (True, "abort();"),
        (True, "__builtin_trap();"),
        (True, "void (*f)() = (void (*)())(unsigned long)N; f();"),
        (True, "struct R { static int deep(volatile int n) { volatile char room[4096]; room[n % 4096] = 1; "
               "return deep(n + 1) + room[0]; } }; volatile int d = R::deep(N); (void)d;"),
        (True, "char* p = (char*)malloc(64); free(p); free(p); abort();"),
        (True, "exit(0);"),
        (True, "_exit(0);"),
        (True, "quick_exit(0);"),
        (True, "exit(N % 200 + 1);"),
    ],
    "loop": [
        (True, "for (volatile unsigned i = 0;; i = i + 1) {}"),
        (True, "while (true) usleep(N);"),
        (True, "while (true) pause();"),
        (True, "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr); while (true) {}"),
        (True, "for (int s = 1; s < 32; s++) signal(s, SIG_IGN); while (true) usleep(1000);"),
        (False, "usleep(N * 10);"),
    ],
    "fork": [
        (False, "if (fork() == 0) { sleep(60); _exit(0); }"),
        (False, "for (int i = 0; i < N % 8 + 2; i++) if (fork() == 0) { while (true) pause(); }"),
        (False, "if (fork() == 0) { for (int s = 1; s < 32; s++) signal(s, SIG_IGN); while (true) pause(); }"),
        (False, "if (fork() == 0) { setsid(); while (true) pause(); }"),
        (False, "if (fork() == 0) { setsid(); if (fork() == 0) while (true) pause(); _exit(0); }"),
        (False, 'if (fork() == 0) { execlp("sleep", "sleep", "60", nullptr); _exit(1); }'),
        (False, "if (fork() == 0) _exit(0); wait(nullptr);"),
        (True, "if (fork() == 0) { while (true) pause(); } abort();"),
        (True, "if (fork() == 0) { while (true) pause(); } while (true) pause();"),
    ],
    "thread": [
        (False, "pthread_t t; pthread_create(&t, nullptr, [](void*) -> void* { while (true) pause(); }, nullptr);"),
        (False, "for (int i = 0; i < N % 60 + 2; i++) { pthread_t t; pthread_create(&t, nullptr, "
                "[](void*) -> void* { while (true) usleep(1000); }, nullptr); }"),
        (True, "pthread_t t; pthread_create(&t, nullptr, [](void*) -> void* { abort(); }, nullptr); while (true) pause();"),
        (True, "pthread_exit(nullptr);"),
        (False, "pthread_t t; pthread_create(&t, nullptr, [](void*) -> void* { return nullptr; }, nullptr); "
                "pthread_join(t, nullptr);"),
    ],
    "descriptor": [
        (True, "for (int f = 0; f < 400; f++) close(f); while (true) pause();"),
        (False, "for (int i = 0; i < N % 350 + 50; i++) (void)!dup(1);"),
        (False, "int p[2]; (void)!pipe(p); (void)!write(p[1], \"x\", 1);"),
        (False, "close(0); close(1); close(2);"),
        (False, "for (int f = 3; f < 64; f++) (void)!write(f, \"{}\\n\", 3);"),
        (False, "(void)!socket(AF_INET, SOCK_STREAM, 0);"),
        (False, "for (int i = 0; i < 4000; i++) (void)!write(1, \"spam\\n\", 5);"),
    ],
    "memory": [
        (False, "for (int i = 0; i < N % 8 + 1; i++) { char* p = (char*)malloc(64 << 20); if (p) memset(p, 1, 64 << 20); }"),
        (True, "for (int i = 0; i < 16; i++) { char* p = (char*)malloc(64 << 20); if (p) memset(p, 1, 64 << 20); } abort();"),
        (False, "void* p = mmap(nullptr, 1ul << 40, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); (void)p;"),
        (False, "volatile char* p = (char*)malloc((size_t)N << 40); if (p) p[0] = 1;"),
        (True, "volatile char room[8 << 20]; for (unsigned long i = 0; i < sizeof room; i++) room[i] = 1; "
               "volatile char more[64 << 20]; for (unsigned long i = 0; i < sizeof more; i += 4096) more[i] = 1; abort();"),
    ],
    "signal": [
        (True, "raise(SIGKILL);"),
        (True, "raise(SIGSEGV);"),
        (True, "kill(getpid(), SIGTERM); while (true) pause();"),
        (True, "raise(SIGSTOP); while (true) pause();"),
        (False, "raise(SIGUSR1 + 0 * N); "),
        (False, "alarm(1); signal(SIGALRM, SIG_IGN);"),
        (False, "signal(SIGCHLD, SIG_IGN); raise(SIGCHLD);"),
        (True, "signal(SIGSEGV, SIG_IGN); *(volatile int*)8 = 1; while (true) pause();"),
        (True, "kill(-getpgrp(), SIGKILL); while (true) pause();"),
    ],
    # ABUSE_OUTSIDE: a folder of the trial with `victim` and an empty `folder`, ABUSE_PORT: where it listens
    "outside": [
        (False, PATH % "new" + "FILE* f = fopen(p, \"w\"); if (f) { fputs(\"x\", f); fclose(f); }"),
        (False, PATH % "victim" + "int f = open(p, O_WRONLY); if (f >= 0) { (void)!write(f, \"x\", 1); close(f); }"),
        (False, PATH % "victim" + "(void)!truncate(p, 0);"),
        (False, PATH % "victim" + "unlink(p);"),
        (False, PATH % "victim" + "char q[4096]; snprintf(q, sizeof q, \"%s-N\", p); rename(p, q);"),
        (False, PATH % "victim" + "char q[4096]; snprintf(q, sizeof q, \"%s-N\", p); (void)!link(p, q);"),
        (False, PATH % "new" + "mkdir(p, 0777);"),
        (False, PATH % "new" + "(void)!symlink(\"/etc/passwd\", p);"),
        (False, PATH % "folder" + "rmdir(p);"),
        (False, PATH % "victim" + "chmod(p, 0);"),
        (False, PATH % "victim" + "timespec t[2] = {}; utimensat(AT_FDCWD, p, t, 0);"),
        (False, "if (fork() == 0) { setsid(); " + PATH % "new" + "int f = open(p, O_CREAT | O_WRONLY, 0600); "
                "if (f >= 0) (void)!write(f, \"x\", 1); _exit(0); } wait(nullptr);"),
        (False, "if (fork() == 0) { execl(\"/bin/sh\", \"sh\", \"-c\", \"echo x > $ABUSE_OUTSIDE/new; rm -rf $ABUSE_OUTSIDE/v*\", "
                "nullptr); _exit(1); } wait(nullptr);"),
        (False, "kill(getppid(), SIGKILL);"),
        (False, "kill(getppid(), SIGSTOP);"),
        (False, "kill(-getpgid(getppid()), SIGKILL);"),
        (False, "sigval v{}; sigqueue(getppid(), SIGKILL, v);"),
        (False, "ptrace(PTRACE_ATTACH, getppid(), 0, 0);"),
        (False, "rlimit none{8, 8}; prlimit(getppid(), RLIMIT_NOFILE, &none, nullptr);"),
        (False, "int s = socket(AF_INET, SOCK_DGRAM, 0); sockaddr_in a{}; a.sin_family = AF_INET; "
                "a.sin_port = htons(atoi(getenv(\"ABUSE_PORT\"))); a.sin_addr.s_addr = htonl(INADDR_LOOPBACK); "
                "(void)!sendto(s, \"x\", 1, 0, (sockaddr*)&a, sizeof a); close(s);"),
    ],
}  # fmt: skip
GOOD = KERNEL % {"head": "", "load": "", "before": "", "other": "", "after": ""}
# What is handed over as a file's bytes; N is a drawn number.
SOURCES = {
    "empty": lambda n: b"",
    "blank": lambda n: b"\n" * n,
    "nul": lambda n: GOOD.encode().replace(b";", b";\0", n % 5 + 1),
    "binary": lambda n: random.Random(n).randbytes(4096),
    "elf": lambda n: b"\x7fELF" + bytes(n),
    "utf-16": lambda n: GOOD.encode("utf-16"),
    "bom": lambda n: b"\xef\xbb\xbf" + GOOD.encode(),
    "crlf": lambda n: GOOD.replace("\n", "\r\n").encode(),
    "latin-1": lambda n: ("// caf\xe9\n" + GOOD).encode("latin-1"),
    "one long line": lambda n: GOOD.encode() + b"//" + b"x" * 1_000_000,
    "cut": lambda n: GOOD.encode()[: n % len(GOOD)],
    "open comment": lambda n: GOOD.encode() + b"/* ",
    "open string": lambda n: GOOD.encode() + b'const char* s = "',
    "open braces": lambda n: GOOD.encode() + b"{" * n,
    "closed braces": lambda n: GOOD.encode() + b"}" * n,
    "deep parentheses": lambda n: GOOD.encode() + b"int deep = " + b"(" * 3000 + b"1" + b")" * 3000 + b";",
    "no such header": lambda n: b'#include "nothing_%d.h"\n' % n + GOOD.encode(),
    "includes itself": lambda n: b'#include "abuse.asc"\n' + GOOD.encode(),
    "error": lambda n: b"#error stop\n" + GOOD.encode(),
    "macro for a keyword": lambda n: b"#define int long\n#define for if\n" + GOOD.encode(),
    "endless template": lambda n: b"template<int k> struct E { enum { v = E<k + 1>::v }; }; int e = E<0>::v;\n" + GOOD.encode(),
    "wide constexpr": lambda n: b"constexpr long f(long k) { long s = 0; for (long i = 0; i < k; i++) s += i; return s; }\n"
    b"constexpr long big = f(1L << 60);\n" + GOOD.encode(),
    "no kernel": lambda n: b'#include "kernel_operator.h"\nint x;\n',
    "two kernels": lambda n: GOOD.encode() + GOOD.replace("void abuse", "void other").encode(),
    "launch in a comment": lambda n: GOOD.encode() + b"// abuse<<<8, nullptr, stream>>>(x);\n/* <<<>>> */\n",
    "line directive": lambda n: b'#line %d "/etc/passwd"\n' % (n + 1) + GOOD.encode(),
    "assembler": lambda n: b'asm(".include \\"/nothing\\"");\n' + GOOD.encode(),
    "pragma": lambda n: b"#pragma GCC poison memcpy malloc\n" + GOOD.encode(),
}  # fmt: skip
CACHE = ("cut library", "empty library", "library of zeros", "cut kernel", "cut headers", "no headers", "cut pch", "junk files",
         "no build folder", "build is a file", "read-only", "no permission", "left locks", "left temporaries", "two at once",
         "device cut")  # fmt: skip
PLACE = ("space", "quote", "chinese", "newline", "dash", "percent", "deep", "gone", "no home", "no path", "no tmp", "read-only cwd",
         "locale C", "closed streams", "few descriptors", "umask", "file for a cache", "no environment")  # fmt: skip
# Errors that are meant for people: the sentence says what to do.
MEANT = ("CompileError", "SourceError", "LaunchError", "ToolError", "ArgumentError", "ValueError", "FileNotFoundError", "UnicodeDecodeError",
         "PermissionError", "NotADirectoryError", "IsADirectoryError", "FileExistsError", "OSError")  # fmt: skip
FIELDS = ("number", "family", "body", "place", "fatal", "got", "healthy", "left", "verdict", "seconds")


def draw(seed: int, count: int) -> list[dict]:
    """The abuses, families in turn."""
    rng, families = random.Random(seed), [*KERNELS, "source", "cache", "place"]
    drawn = []
    for number in range(count):
        family = families[number % len(families)]
        row = {"number": number, "family": family, "place": "", "fatal": "", "n": rng.randrange(1, 4000)}
        if family in KERNELS:
            which = rng.randrange(len(KERNELS[family]))
            fatal, text = KERNELS[family][which]
            row |= {
                "body": which,
                "place": rng.choice(PLACES),
                "fatal": fatal,
                "text": re.sub(r"(?<![A-Z_])N(?![A-Za-z_])", str(row["n"]), text),
            }
        else:
            row["body"] = rng.choice({"source": list(SOURCES), "cache": CACHE, "place": PLACE}[family])
        drawn.append(row)
    return drawn
