package diag

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A Code is a class of faults that users correct in the same way, such as FL1001. Its
// meaning never changes, so that people, scripts and code scanners can rely on it.
type Code string

// codeFiles has codes.txt, which lists the title of each code below the heading of its
// range, and a Markdown page for each code in use.
//
//go:embed codes
var codeFiles embed.FS

// A codeList has the codes of codes.txt.
type codeList struct {
	codes   []Code // in the order of their numbers
	titles  map[Code]string
	retired map[Code]bool
}

// retiredMark stands in codes.txt between a retired code and its title.
const retiredMark = "(retired) "

var allCodes = sync.OnceValue(func() *codeList {
	l := &codeList{titles: map[Code]string{}, retired: map[Code]bool{}}
	data, err := codeFiles.ReadFile("codes/codes.txt")
	if err != nil {
		panic(err) // it is embedded
	}
	for line := range strings.Lines(string(data)) {
		code, title, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !codeText.MatchString(code) {
			continue // a heading
		}
		title, retired := strings.CutPrefix(title, retiredMark)
		l.codes = append(l.codes, Code(code))
		l.titles[Code(code)], l.retired[Code(code)] = title, retired
	}
	return l
})

// Codes returns all codes with a page, in the order of their numbers.
func Codes() []Code {
	return slices.DeleteFunc(slices.Clone(allCodes().codes), func(c Code) bool { return c.Page() == "" })
}

// codeText matches the text of a code, as users write it.
var codeText = regexp.MustCompile(`(?i)^FL[0-9]+$`)

// ParseCode returns the code that a user writes, in upper or lower case. It is not ok
// when the text does not have the form of a code.
func ParseCode(text string) (c Code, ok bool) {
	return Code(strings.ToUpper(text)), codeText.MatchString(text)
}

// Title returns the meaning of the code as a sentence without a full stop; empty for an
// unknown code.
func (c Code) Title() string { return allCodes().titles[c] }

// repository is the address of the files that pages link to.
const repository = "https://github.com/fleetc/fleetc/blob/main/"

// up is how links of pages begin: the path from the pages to the top of the repository.
const up = "../../../../"

// Page returns the Markdown page of the code, with absolute links; empty when there is
// none.
func (c Code) Page() string {
	data, err := codeFiles.ReadFile(c.file())
	if err != nil {
		return ""
	}
	page := strings.ReplaceAll(string(data), "]("+up, "]("+repository)
	return pageLink.ReplaceAllString(page, "]("+repository+codeDir+"/$1.md)")
}

// codeDir is the directory of the pages, from the top of the repository.
const codeDir = "compiler/base/diag/codes"

func (c Code) file() string { return "codes/" + string(c) + ".md" }

// URL returns the address of the page.
func (c Code) URL() string { return repository + codeDir + "/" + string(c) + ".md" }

var (
	pageLink = regexp.MustCompile(`\]\((FL[0-9]+)\.md\)`)
	anyLink  = regexp.MustCompile(`\[([^]]+)\]\(([^)]+)\)`)
)

// Text returns the page for a terminal: links show their address.
func (c Code) Text() string {
	return anyLink.ReplaceAllString(c.Page(), "$1 ($2)")
}

// summary returns the first paragraph of the page in one line.
func (c Code) summary() string {
	_, body, _ := strings.Cut(c.Text(), "\n\n")
	first, _, _ := strings.Cut(body, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// A codedError knows its code and the next step, but not its place: it becomes a
// fault with the text of all errors around it.
type codedError interface {
	error
	Classify() (code Code, hint string)
}

// classify returns the code and the next step for an error that is not a fault. The hint is
// empty when the next step is not known.
func classify(err error) (code Code, hint string) {
	if c, ok := errors.AsType[codedError](err); ok {
		return c.Classify()
	}
	var (
		path    *fs.PathError
		link    *os.LinkError
		system  *os.SyscallError
		network net.Error
	)
	code = CodeSystemError
	switch {
	case errors.Is(err, context.Canceled):
		code = CodeInterrupted
	case errors.As(err, &path), errors.As(err, &link), errors.As(err, &system):
		code = CodeFileSystem
	case errors.As(err, &network):
		code = CodeNetwork
	}
	switch {
	case IsFullDisk(err):
		hint = "free disk space, then run the command again"
	case errors.Is(err, syscall.EROFS):
		hint = "use a writable directory: this file system is read-only"
	case errors.Is(err, fs.ErrPermission):
		hint = "check the owner and the mode of the file and its directory"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, fs.ErrExist):
		hint = "move or remove the file or directory that is in the way"
	}
	return code, hint
}

// IsFullDisk reports whether an error of the file system says that a disk or a quota is full.
func IsFullDisk(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// suffix returns the code as it ends the first line of a fault; empty without a code.
func (c Code) suffix() string {
	if c == "" {
		return ""
	}
	return " [" + string(c) + "]"
}
