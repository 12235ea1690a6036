package git

import "golang.org/x/sys/unix"

// limitProcess bounds the memory of a process and of each of its children, and the size of each
// file that they write; 0 for any. Git starts its children long after this call.
func limitProcess(pid int, memory, file int64) error {
	for resource, limit := range map[int]int64{unix.RLIMIT_DATA: memory, unix.RLIMIT_FSIZE: file} {
		if limit == 0 {
			continue
		}
		bound := uint64(limit) //nolint:gosec // no limit is negative
		if err := unix.Prlimit(pid, resource, &unix.Rlimit{Cur: bound, Max: bound}, nil); err != nil {
			return err
		}
	}
	return nil
}
