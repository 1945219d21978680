package par

import (
	"os"
	"sync"
)

// swapping is held while os.Stderr is another file, and while a library keeps it.
var swapping sync.Mutex

// SilenceStderr calls f while os.Stderr is the null device. A crash of the process stays
// visible: Go prints it to the file descriptor. One f runs at a time. f must not leave
// goroutines behind that read os.Stderr.
func SilenceStderr(f func()) error {
	swapping.Lock()
	defer swapping.Unlock()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	before := os.Stderr
	os.Stderr = null
	// The file stays open: a goroutine of f may still have it.
	defer func() { os.Stderr = before }()
	f()
	return nil
}

// UseStderr calls f, which keeps os.Stderr, while it is not silenced.
func UseStderr(f func()) {
	swapping.Lock()
	defer swapping.Unlock()
	f()
}
