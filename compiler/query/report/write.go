package report

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/deliver"
)

// CheckFile returns a fault for a file that a report must not replace: a directory, or a file
// in .git or among the files of the fleet.
func CheckFile(c *compiler.Compiler, file string) error {
	if err := deliver.CheckOutput(c, file); err != nil {
		for _, d := range diag.All(err) {
			d.Hint = "write the report to another file, such as report.html"
		}
		return err
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return &diag.Diag{Msg: diag.Visible(file, diag.MaxText) + " is a directory", Hint: "name the file, such as report.html"}
	}
	return nil
}

// WriteFile writes the page to a file. It replaces the file when all bytes are written.
func WriteFile(file string, r *Report) error {
	text, err := r.HTML()
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".report-*")
	if err != nil {
		return &diag.Diag{Msg: "cannot write the report: " + errors.Unwrap(err).Error(), Hint: "name a file in a directory that exists", Cause: err}
	}
	_, err = tmp.Write(text)
	const mode = 0o644
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
