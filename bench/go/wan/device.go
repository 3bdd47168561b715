//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// Of linux/if_tun.h and linux/sockios.h; package syscall lacks some.
const (
	tunSetIff   = 0x400454ca
	iffTun      = 0x0001
	iffNoPi     = 0x1000
	setTxQueue  = 0x8943
	queueLength = 10_000
)

// request is struct ifreq: a name and a union.
type request struct {
	name  [16]byte
	value [24]byte
}

func requestFor(device string) *request {
	made := &request{}
	copy(made.name[:], device)
	return made
}

func openTun(name string) (*os.File, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun cannot be opened: %w", err)
	}
	asked := requestFor(name)
	binary.NativeEndian.PutUint16(asked.value[:], iffTun|iffNoPi)
	if err := control(fd, tunSetIff, asked); err != nil {
		return nil, fmt.Errorf("no TUN device can be made: %w", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// bringUp gives a device its address in a network of 256, the path's MTU and a queue that loses nothing, and switches it on.
func bringUp(device, address string) error {
	steps := []struct {
		code uint
		fill func([]byte)
	}{
		{syscall.SIOCSIFADDR, internetAddress(net.ParseIP(address))},
		{syscall.SIOCSIFNETMASK, internetAddress(net.IPv4(255, 255, 255, 0))},
		{syscall.SIOCSIFMTU, number(mtu)},
		{setTxQueue, number(queueLength)},
	}
	for _, step := range steps {
		asked := requestFor(device)
		step.fill(asked.value[:])
		if err := onSocket(step.code, asked); err != nil {
			return fmt.Errorf("%s cannot be set up: %w", device, err)
		}
	}
	return setFlags(device, syscall.IFF_UP|syscall.IFF_RUNNING|syscall.IFF_POINTOPOINT)
}

func setFlags(device string, flags uint16) error {
	asked := requestFor(device)
	binary.NativeEndian.PutUint16(asked.value[:], flags)
	if err := onSocket(syscall.SIOCSIFFLAGS, asked); err != nil {
		return fmt.Errorf("%s cannot be switched on: %w", device, err)
	}
	return nil
}

// internetAddress is struct sockaddr_in.
func internetAddress(address net.IP) func([]byte) {
	return func(into []byte) {
		binary.NativeEndian.PutUint16(into, syscall.AF_INET)
		copy(into[4:8], address.To4())
	}
}

func number(value uint32) func([]byte) {
	return func(into []byte) { binary.NativeEndian.PutUint32(into, value) }
}

// onSocket asks the namespace of this thread.
func onSocket(code uint, asked *request) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	return control(fd, code, asked)
}

func control(fd int, code uint, asked *request) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), uintptr(code), uintptr(unsafe.Pointer(asked)))
	if errno != 0 {
		return errno
	}
	return nil
}
