package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file or folder to the owner of another if the process runs as root, so that a file of root does not
// lock out the user who owns the folder.
func keepOwner(at string, of fs.FileInfo) error {
	owner, ok := of.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(at, int(owner.Uid), int(owner.Gid))
}
