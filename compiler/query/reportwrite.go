package query

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// CheckReportFile returns a fault for a file that a report must not replace: one in .git or among
// the files of the fleet, and a directory, device or pipe.
func CheckReportFile(c *compiler.Compiler, file string) error {
	if err := deliver.CheckOutput(c, file); err != nil {
		for _, d := range diag.All(err) {
			d.Hint = "write the report to another file, such as report.html"
		}
		return err
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().IsRegular() {
		return nil
	}
	kind := "not a regular file"
	if info.IsDir() {
		kind = "a directory"
	}
	return &diag.Diag{Code: diag.CodeFileSystem, Msg: diag.Visible(file, diag.MaxText) + " is " + kind, Hint: "name the file, such as report.html"}
}

// WriteReportFile writes the page to a file. It replaces the file when all bytes are written. A
// file that exists keeps its permissions, and a symbolic link keeps its target.
func WriteReportFile(file string, r *Report) error {
	text, err := r.HTML()
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	err = fleet.Replacement{File: file, Temp: ".report-" + rand.Text()}.Write(text)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &diag.Diag{
			Code:  diag.CodeFileSystem,
			Msg:   "cannot write the report: " + e.Err.Error(),
			Hint:  "name a file in a directory that exists and that you can write to",
			Cause: err,
		}
	}
	return err
}
