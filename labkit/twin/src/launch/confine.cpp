// Landlock for files, seccomp for the calls that Landlock does not know. Neither needs root; where one is missing the
// other still holds, and `labkit doctor` says so.
#include "launch/launch.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace twin {

namespace {

// ---- Landlock. Its numbers are written out: a host with an older <linux/landlock.h> may have a newer kernel.

constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;  // the same on every processor

struct Ruleset { uint64_t files, network, scope; };
struct __attribute__((packed)) PathRule {
    uint64_t allowed;
    int32_t folder;
};

constexpr uint64_t kWriteFile = 1 << 1, kRemove = 3 << 4, kMake = 127 << 6, kRefer = 1 << 13, kTruncate = 1 << 14;
constexpr uint64_t kTcp = 3;           // bind and connect
constexpr uint64_t kOutsideScope = 3;  // abstract sockets of others, signals to others

std::string landlock(const std::vector<std::string>& writes) {
    const long version = syscall(kCreateRuleset, nullptr, 0, 1);
    if (version < 1) return "Landlock: the kernel has none (5.13 or newer, with landlock among its LSMs)";
    const uint64_t files = kWriteFile | kRemove | kMake | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
    const Ruleset rules{files, version >= 4 ? kTcp : 0, version >= 6 ? kOutsideScope : 0};
    const size_t known = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    const int fd = int(syscall(kCreateRuleset, &rules, known, 0));
    if (fd < 0) return std::string("Landlock: ") + std::strerror(errno);
    std::vector<std::string> all = writes;
    all.insert(all.end(), {"/dev/null", "/dev/zero", "/dev/full"});
    for (const std::string& path : all) {
        PathRule rule{files, open(path.c_str(), O_PATH | O_CLOEXEC)};
        struct stat s;
        if (rule.folder < 0 || fstat(rule.folder, &s)) continue;
        if (!S_ISDIR(s.st_mode)) rule.allowed &= kWriteFile | kTruncate;
        syscall(kAddRule, fd, 1, &rule, 0);
        close(rule.folder);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    const bool done = syscall(kRestrictSelf, fd, 0) == 0;
    const std::string why = std::strerror(errno);
    close(fd);
    return done ? "" : "Landlock: " + why;
}

// ---- seccomp

#if defined(__x86_64__)
constexpr uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kMachine = 0;
#endif

// Into other processes, and around the rules.
constexpr int kNever[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_mount,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_open_by_handle_at,
#ifdef SYS_pidfd_send_signal
    SYS_pidfd_send_signal,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
};
// What files are, which Landlock leaves alone: it is not seen here whose file a call names. A program or a compiler
// does such things to its own files, and is told that it is done.
constexpr int kMarks[] = {
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
#ifdef SYS_chmod  // not on aarch64
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    // Newer than the headers of most hosts, and the same on every processor: fchmodat2 (Linux 6.6), setxattrat and
    // removexattrat (6.13), file_setattr (6.17).
    452,
    463,
    466,
    469,
};

class Filter {
public:
    void load(size_t at) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, uint32_t(at)); }
    void refuse_if(uint32_t value, uint32_t error = EPERM) {  // error 0: it does nothing, and says that it has
        add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
        add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error);
    }
    void refuse_unless(uint32_t value) {
        add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
        refuse();
    }
    void refuse_from(uint32_t value) {
        add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, value);
        refuse();
    }
    void refuse() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM); }
    void allow() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW); }
    void skip_unless(uint32_t value, size_t lines) { add(BPF_JMP | BPF_JEQ | BPF_K, 0, uint8_t(lines), value); }
    std::string install() {
        sock_fprog program{uint16_t(lines_.size()), lines_.data()};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        // Older kernels would switch speculation off for all that follows, and kernels with it would be slow.
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0) return "";
        return std::string("seccomp: ") + std::strerror(errno);
    }

private:
    void add(uint16_t code, uint8_t yes, uint8_t no, uint32_t value) { lines_.push_back({code, yes, no, value}); }
    std::vector<sock_filter> lines_;
};

std::string seccomp(bool own_folder) {
    if (!kMachine) return "seccomp: this processor's calls are not listed";
    constexpr size_t kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch);
    constexpr size_t kFirst = offsetof(seccomp_data, args);  // its lower half: both processors are little-endian
    Filter f;
    f.load(kArch);
    f.refuse_unless(kMachine);  // another processor's numbers mean other calls
    f.load(kNumber);
    if (kMachine == AUDIT_ARCH_X86_64) f.refuse_from(0x40000000);  // x32's, which are the same calls again
    for (int call : kNever) f.refuse_if(uint32_t(call));
    for (int call : kMarks) f.refuse_if(uint32_t(call), own_folder ? 0 : EPERM);

    f.skip_unless(SYS_socket, 4);
    f.load(kFirst);
    f.skip_unless(AF_UNIX, 1);
    f.allow();
    f.refuse();
    // Landlock's scope does this from version 6 on, and for everybody else's processes too.
    const uint32_t parent = uint32_t(getppid()), its_group = uint32_t(getpgid(getppid()));
    for (int call : {SYS_kill, SYS_tgkill}) {
        f.skip_unless(uint32_t(call), 8);
        f.load(kFirst);
        f.refuse_if(parent);
        f.refuse_if(0u - its_group);
        f.refuse_if(0xFFFFFFFFu);
        f.allow();
    }
    f.skip_unless(SYS_prlimit64, 4);  // setrlimit() is a prlimit() of process 0, which is oneself
    f.load(kFirst);
    f.skip_unless(0, 1);
    f.allow();
    f.refuse();
    f.allow();
    return f.install();
}

}  // namespace

std::vector<std::string> confine(const std::vector<std::string>& writes) {
    std::vector<std::string> missing;
    for (const std::string& why : {landlock(writes), seccomp(!writes.empty())})
        if (!why.empty()) missing.push_back(why);
    return missing;
}

}  // namespace twin
