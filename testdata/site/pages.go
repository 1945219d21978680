package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const repository = "https://github.com/fleetc/fleetc"

// others are pages outside docs, by their file in the repository.
var others = map[string]string{
	"README.md":       "index",
	"CONTRIBUTING.md": "contributing",
	"CHANGELOG.md":    "changelog",
	codeList:          "codes",
}

// codeDir has a page for each fault code, and codeList the titles of all codes.
const (
	codeDir  = "compiler/base/diag/codes/"
	codeList = codeDir + "codes.txt"
)

// A pageSet has the text of each page by its name, such as "layers".
type pageSet map[string]string

// pages reads the pages of the repository.
func (b *builder) pages() (pageSet, error) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		return nil, err
	}
	codes, err := filepath.Glob(codeDir + "*.md")
	if err != nil {
		return nil, err
	}
	files = slices.Concat(files, codes, slices.Sorted(maps.Keys(others)))
	names := map[string]string{}
	for _, file := range files {
		names[file] = others[file]
		if names[file] == "" {
			names[file] = strings.TrimSuffix(path.Base(file), ".md")
		}
	}
	pages := pageSet{}
	var faults []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r := rewriter{file: file, names: names, version: b.version}
		pages[names[file]] = r.rewrite(string(text))
		faults = append(faults, r.faults...)
	}
	pages["codes"] = codeIndex(pages)
	return pages, errors.Join(faults...)
}

// codePage matches the name of the page of a code.
var codePage = regexp.MustCompile(`^FL[0-9]+$`)

// codeIndex returns the page that lists the codes with a page, from the text of codes.txt.
func codeIndex(pages pageSet) string {
	var out strings.Builder
	out.WriteString("# Fault codes\n\nThe code at the end of a fault names its page here. `fleetc help FL1001` prints the page.\n")
	heading := ""
	for line := range strings.Lines(pages["codes"]) {
		code, title, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case code == "#":
			heading = "\n## " + title + "\n\n"
		case pages[code] != "":
			out.WriteString(heading + "- [" + code + "](./" + code + ".md): " + title + "\n")
			heading = ""
		}
	}
	return out.String()
}

// write writes each page to a file.
func (p pageSet) write(dir string) error {
	for name, text := range p {
		if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// title returns the first heading of a page.
func (p pageSet) title(name string) string {
	for line := range strings.Lines(p[name]) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.ReplaceAll(strings.TrimSpace(title), "`", "")
		}
	}
	return name
}

// linkTarget matches the target of a Markdown link without its fragment.
var linkTarget = regexp.MustCompile(`\]\(([^)\s#]+)`)

// A rewriter changes links between files of the repository to links between pages, and links
// to other files to links to the repository on its server.
type rewriter struct {
	file    string
	names   map[string]string // of pages, by file
	version string
	faults  []error
}

func (r *rewriter) rewrite(text string) string {
	var out strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced {
			line = linkTarget.ReplaceAllStringFunc(line, func(match string) string {
				return "](" + r.target(strings.TrimPrefix(match, "]("))
			})
		}
		out.WriteString(line)
	}
	return out.String()
}

func (r *rewriter) target(link string) string {
	if strings.Contains(link, ":") || strings.HasPrefix(link, "/") {
		return link
	}
	file := path.Join(path.Dir(r.file), link)
	if name := r.names[file]; name != "" {
		return "./" + name + ".md"
	}
	if picture, ok := strings.CutPrefix(file, "docs/pictures/"); ok {
		return "./pictures/" + picture
	}
	if _, err := os.Stat(filepath.FromSlash(file)); err != nil {
		r.faults = append(r.faults, fmt.Errorf("%s: dead link: %w", r.file, err))
	}
	return repository + "/blob/" + r.version + "/" + file
}

// A link is an entry of a menu.
type link struct {
	Text   string `json:"text"`
	Link   string `json:"link"`
	Name   string `json:"name,omitempty"`   // of the page
	Target string `json:"target,omitempty"` // _self loads the page instead of changing the current one
}

// A section is a list of pages in the sidebar.
type section struct {
	Text  string `json:"text"`
	Items []link `json:"items"`
}

// A group is an entry of the top menu: the sections whose names start with the same word.
type group struct {
	Text  string   `json:"text"`
	Link  string   `json:"link"`
	Pages []string `json:"pages"`
}

// readNavigation reads the order of the pages. Each page must be in one section, except those
// of codes, which the page codes lists.
func readNavigation(pages pageSet) ([]section, error) {
	text, err := os.ReadFile(filepath.Join(source, "navigation.json"))
	if err != nil {
		return nil, err
	}
	var lists []struct {
		Section string
		Pages   []string
	}
	if err := json.Unmarshal(text, &lists); err != nil {
		return nil, fmt.Errorf("navigation.json: %w", err)
	}
	left := maps.Clone(pages)
	maps.DeleteFunc(left, func(name, _ string) bool { return codePage.MatchString(name) })
	var sections []section
	for _, list := range lists {
		s := section{Text: list.Section}
		for _, name := range list.Pages {
			if _, ok := left[name]; !ok {
				return nil, fmt.Errorf("navigation.json: page %q does not exist, or is listed twice", name)
			}
			delete(left, name)
			s.Items = append(s.Items, link{Text: pages.title(name), Link: strings.TrimSuffix("/"+name, "index"), Name: name})
		}
		sections = append(sections, s)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("add to site/navigation.json: %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return sections, nil
}

// groups returns the groups of the sections.
func groups(sections []section) []group {
	var out []group
	for _, s := range sections {
		name, _, _ := strings.Cut(s.Text, ":")
		if len(out) == 0 || out[len(out)-1].Text != name {
			out = append(out, group{Text: name, Link: s.Items[0].Link})
		}
		last := &out[len(out)-1]
		for _, item := range s.Items {
			last.Pages = append(last.Pages, item.Name)
		}
	}
	return out
}
