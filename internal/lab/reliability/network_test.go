//go:build linux

package reliability_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain runs the trials in namespaces of their own for network, mounts and processes. All of that goes with the last
// process, however it ends.
func TestMain(m *testing.M) {
	const inside = "IN_NAMESPACES_OF_THEIR_OWN"
	switch {
	case os.Getenv("WARDCAST_TRIAL") == "" || os.Getenv("WARDCAST_SHARED") == "": // the trials are skipped
	case os.Getenv(inside) == "":
		os.Exit(again(inside)) //nolint:forbidigo // as testing.M ends
	default:
		for _, args := range [][]string{
			{"mount", "--make-rprivate", "/"},
			{"mount", "-t", "proc", "proc", "/proc"},
			{"mkdir", "-p", namespaces},
			{"mount", "-t", "tmpfs", "tmpfs", namespaces},
			{"ip", "link", "set", "lo", "up"},
			{"ip", "link", "add", hub, "type", "bridge"},
			{"ip", "addr", "add", fmt.Sprintf(subnet, 254) + "/24", "dev", hub},
			{"ip", "link", "set", hub, "up"},
		} {
			//nolint:gosec,noctx // the test's own words
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%q: %v\n%s", args, err, out)
				os.Exit(1) //nolint:forbidigo // as testing.M ends
			}
		}
	}
	os.Exit(m.Run()) //nolint:forbidigo // as testing.M ends
}

// again runs the tests in new namespaces and returns their exit code.
func again(inside string) int {
	runtime.LockOSThread()                                // the child dies with this thread
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...) //nolint:gosec,noctx // itself; its own timeout ends it
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "the trials need a network of their own, which takes root:", err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

// The network: hosts on a bridge, where the trial itself is one of them.
const (
	namespaces = "/run/netns"
	hub        = "hub"
	subnet     = "10.77.0.%d"
	nowhere    = "02:00:00:00:00:01" // the address of no card
)

// host is a machine of its own, as far as the network goes.
type host struct {
	*testing.T
	name, address string
}

func newHost(t *testing.T, name string, i int) *host {
	t.Helper()
	h := &host{T: t, name: name, address: fmt.Sprintf(subnet, i)}
	t.Cleanup(func() { h.do("ip", "netns", "del", name) })
	h.do("ip", "netns", "add", name)
	h.do("ip", "link", "add", "to-"+name, "type", "veth", "peer", "name", "eth0", "netns", name)
	h.do("ip", "link", "set", "to-"+name, "master", hub, "up")
	h.do("ip", "-n", name, "addr", "add", h.address+"/24", "dev", "eth0")
	h.do("ip", "-n", name, "link", "set", "eth0", "up")
	h.do("ip", "-n", name, "link", "set", "lo", "up")
	return h
}

// do runs a command of the system.
func (h *host) do(args ...string) {
	h.Helper()
	do(h.T, args...)
}

func do(t *testing.T, args ...string) {
	t.Helper()
	// also called after the test's end
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), args[0], args[1:]...) //nolint:gosec // own words
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
}

// command returns a command that runs on the host until it ends by itself or by a signal.
func (h *host) command(args ...string) *exec.Cmd {
	//nolint:gosec // the test's own words
	return exec.CommandContext(context.WithoutCancel(h.Context()), "ip",
		append([]string{"netns", "exec", h.name}, args...)...)
}

// cut takes the cable of the host away: what it sends is lost without an answer. join puts it back.
func (h *host) cut()  { h.Helper(); h.do("ip", "link", "set", "to-"+h.name, "nomaster") }
func (h *host) join() { h.Helper(); h.do("ip", "link", "set", "to-"+h.name, "master", hub) }

// miss loses what the host sends to another one, until find.
func (h *host) miss(o *host) {
	h.Helper()
	h.do("ip", "-n", h.name, "neigh", "replace", o.address, "lladdr", nowhere, "dev", "eth0", "nud", "permanent")
}

func (h *host) find(o *host) {
	h.Helper()
	h.do("ip", "-n", h.name, "neigh", "del", o.address, "dev", "eth0")
}

// dial opens a connection from the host, also to its own loopback.
func (h *host) dial(ctx context.Context, network, address string) (net.Conn, error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	theirs, err := os.Open(filepath.Join(namespaces, h.name))
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if err := unix.Setns(int(theirs.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, network, address)
	if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil { // otherwise the thread ends with its goroutine
		runtime.UnlockOSThread()
	}
	return conn, err
}

// disk is a file system of its own size.
type disk struct {
	*testing.T
	folder string
}

// newDisk mounts a file of so many megabytes, of which only what is used takes space.
func newDisk(t *testing.T, folder string, megabytes int) *disk {
	t.Helper()
	d := &disk{t, folder}
	image := folder + ".img"
	do(t, "truncate", "-s", fmt.Sprintf("%dM", megabytes), image)
	do(t, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", image)
	do(t, "mkdir", "-p", folder)
	do(t, "mount", "-o", "loop", image, folder)
	t.Cleanup(func() { do(t, "umount", "-l", folder) })
	return d
}

// freeze keeps what is written waiting until thaw.
func (d *disk) freeze() { d.Helper(); do(d.T, "fsfreeze", "-f", d.folder) }
func (d *disk) thaw()   { d.Helper(); do(d.T, "fsfreeze", "-u", d.folder) }

// fill leaves nothing free until empty.
func (d *disk) fill() {
	d.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(d.folder, &s); err != nil {
		d.Fatal(err)
	}
	do(d.T, "fallocate", "-l", fmt.Sprint(s.Bavail*uint64(s.Bsize)*99/100), d.ballast())
	do(d.T, "sh", "-c", "cat /dev/zero >"+d.ballast()+".rest 2>/dev/null || true")
}

func (d *disk) empty() { d.Helper(); do(d.T, "rm", "-f", d.ballast(), d.ballast()+".rest") }

// ballast is a file that neither brokers nor stores look at.
func (d *disk) ballast() string { return filepath.Join(d.folder, "lost+found", "ballast") }
