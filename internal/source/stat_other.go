//go:build !linux

package source

import (
	"io/fs"
	"os"
)

// lstat leaves out of a file's identity what has another name on each system; Linux is what the service runs on.
func lstat(name string) (fileStat, fs.FileMode, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return fileStat{}, 0, err
	}
	return fileStat{size: info.Size(), mtime: info.ModTime().UnixNano()}, info.Mode().Type(), nil
}
