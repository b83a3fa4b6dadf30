package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file or folder to the owner of another, if the process is that of root: what root writes into a
// folder must not lock out the user whose folder it is.
func keepOwner(at string, of fs.FileInfo) error {
	owner, ok := of.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(at, int(owner.Uid), int(owner.Gid))
}
