package main

import (
	"fmt"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What unpacking needs of root's powers: owners, modes and file capabilities as the archive has them. No devices.
var kept = []uint{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETFCAP}

// contain makes the directory the root of this process, with nothing else mounted, and gives up all powers but those that
// files need. From then on every path that the kernel follows, through whatever links, ends in there.
func contain(into string, mostBytes int64) error {
	runtime.LockOSThread()
	steps := []struct {
		what string
		do   func() error
	}{
		{"keep its mounts to itself", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount the directory", func() error { return unix.Mount(into, into, "", unix.MS_BIND, "") }},
		{"mount it without devices", func() error {
			return unix.Mount("", into, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NODEV|unix.MS_NOSUID|unix.MS_NOEXEC, "")
		}},
		{"enter it", func() error { return unix.Chdir(into) }},
		// The old root ends up on top of the new one, and is taken off.
		{"make it the root", func() error { return unix.PivotRoot(".", ".") }},
		{"leave the old root", func() error { return unix.Unmount(".", unix.MNT_DETACH) }},
		{"stand in the new one", func() error { return unix.Chdir("/") }},
		{"limit files", func() error { return limit(unix.RLIMIT_FSIZE, uint64(mostBytes)) }},
		{"limit open files", func() error { return limit(unix.RLIMIT_NOFILE, 64) }},
		{"leave no core", func() error { return limit(unix.RLIMIT_CORE, 0) }},
		{"give up powers", giveUpPowers},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("could not %s: %w", step.what, err)
		}
	}
	signal.Ignore(syscall.SIGXFSZ) // a write beyond the limit fails instead
	unix.Umask(0)
	return nil
}

func limit(resource int, most uint64) error {
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
}

func giveUpPowers() error {
	for capability := uint(0); capability <= unix.CAP_LAST_CAP; capability++ {
		if !isKept(capability) {
			_, _, err := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(capability), 0)
			if err != 0 && err != unix.EINVAL { // this kernel has fewer
				return err
			}
		}
	}
	if _, _, err := syscall.AllThreadsSyscall(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0); err != 0 {
		return err
	}
	var mask [2]uint32
	for _, capability := range kept {
		mask[capability/32] |= 1 << (capability % 32)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Effective: mask[0], Permitted: mask[0]}, {Effective: mask[1], Permitted: mask[1]}}
	_, _, err := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0)
	if err != 0 {
		return err
	}
	return nil
}

func isKept(capability uint) bool {
	for _, each := range kept {
		if each == capability {
			return true
		}
	}
	return false
}
