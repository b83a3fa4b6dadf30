package doctor

import "syscall"

// synchronized reports whether the kernel's clock is synchronized.
func synchronized() bool {
	const unsynchronized = 0x40 // STA_UNSYNC of timex.h
	var t syscall.Timex
	_, err := syscall.Adjtimex(&t)
	return err != nil || t.Status&unsynchronized == 0 // a container may forbid the question
}

// free returns how many bytes a user may still write to the disk of a folder.
func free(folder string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil //nolint:gosec // a block has a positive size
}
