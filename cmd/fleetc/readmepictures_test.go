package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestReadmePictures draws the pictures of docs/pictures that are SVG files, and
// compares them; -update writes them. Their text is output of commands that TestReadme
// compares, so a picture never shows what a command does not print.
func TestReadmePictures(t *testing.T) {
	t.Parallel()
	explain := output(t, "docs/explain.md", "fleetc explain prod/us-1 releases.web.values.replicaCount", 0)
	diff := output(t, "docs/promote.md", "fleetc diff --against git:main", 1)
	fault := output(t, "docs/faults.md", "fleetc vet", 0)
	for name, picture := range map[string]string{
		"fault.svg":    terminalPicture("A fault", "fleetc vet", fault, faultMarks),
		"explain.svg":  terminalPicture("An explanation of a value", "fleetc explain prod/us-1 releases.web.values.replicaCount", explain, explainMarks),
		"diff.svg":     terminalPicture("A diff", "fleetc diff --against git:main", diff, diffMarks),
		"layers.svg":   layersPicture(t, explain),
		"pipeline.svg": pipelinePicture(),
	} {
		file := filepath.Join("../../docs/pictures", name)
		for d := xml.NewDecoder(strings.NewReader(picture)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(picture), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, []byte(picture)) {
			t.Errorf("%s is not up to date: run go test ./cmd/fleetc -run ReadmePictures -update (%v)", file, err)
		}
	}
}

// output returns the lines that a page shows below the nth occurrence of a command.
func output(t *testing.T, file, command string, n int) []string {
	t.Helper()
	for _, b := range readPage(t, file).blocks {
		for i, line := range b.lines {
			if b.lang != "console" || line != "$ "+command {
				continue
			}
			if n--; n >= 0 {
				continue
			}
			lines := b.lines[i+1:]
			if next := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "$ ") }); next >= 0 {
				lines = lines[:next]
			}
			return lines
		}
	}
	t.Fatalf("%s does not show %s", file, command)
	return nil
}

// A highlight gives lines that match a color, and the number by which the page explains them.
type highlight struct {
	match *regexp.Regexp
	class string
	label string // on the first line that matches
}

var (
	faultMarks = []highlight{
		{regexp.MustCompile(`^( {2})?\S`), "red", "1"},
		{regexp.MustCompile(`and here$`), "", "2"},
		{regexp.MustCompile(`^    hint:`), "green", "3"},
		{regexp.MustCompile(`^    in `), "", "4"},
	}
	explainMarks = []highlight{
		{regexp.MustCompile(`^\S*: `), "bold", "1"},
		{regexp.MustCompile(`the chart expects`), "", "2"},
		{regexp.MustCompile(`after each layer`), "bold", "3"},
		{regexp.MustCompile(`contributing lines`), "bold", "4"},
		{regexp.MustCompile(` wins `), "green", ""},
	}
	// As fleetc diff colors them on a terminal.
	diffMarks = []highlight{
		{regexp.MustCompile(`^ *\+`), "green", ""},
		{regexp.MustCompile(`^ *-`), "red", ""},
		{regexp.MustCompile(`^ *~`), "yellow", ""},
		{regexp.MustCompile(`^ *@@`), "blue", ""},
	}
)

// An svg is a picture that grows.
type svg struct {
	title         string
	width, height int
	strings.Builder
}

// style gives pictures their own background, and colors for light and dark mode.
const style = `<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
rect,path{fill:#fff;stroke:#818b98}.back{fill:#f6f8fa;stroke:#d1d9e0}.line{fill:none}
.bold,.label{font-weight:bold}.dim{fill:#59636e}.red{fill:#c21c2b}.green{fill:#116329}.yellow{fill:#7d4e00}.blue{fill:#0550ae}
@media(prefers-color-scheme:dark){
text{fill:#f0f6fc}rect,path{fill:#0d1117;stroke:#9198a1}.back{fill:#151b23;stroke:#3d444d}.line{fill:none}
.dim{fill:#9198a1}.red{fill:#ff8182}.green{fill:#56d364}.yellow{fill:#e3b341}.blue{fill:#79c0ff}
}</style>
`

// columnWidth and lineHeight are the size of a character.
const columnWidth, lineHeight = 8.4, 20

// text writes a text, whose width is the same with every font.
func (s *svg) text(x, y int, class, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(s, `<text x="%d" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"`, x, y, float64(utf8.RuneCountInString(text))*columnWidth)
	if class != "" {
		fmt.Fprintf(s, ` class="%s"`, class)
	}
	fmt.Fprintf(s, " xml:space=\"preserve\">%s</text>\n", html.EscapeString(text))
}

func (s *svg) box(x, y, width, height int) {
	fmt.Fprintf(s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", x, y, width, height)
}

// arrow draws an arrow to the right.
func (s *svg) arrow(x, y, length int) {
	fmt.Fprintf(s, "<path class=\"line\" d=\"M%d %dh%dm-6 -5l6 5l-6 5\"/>\n", x, y, length)
}

// picture returns the file.
func (s *svg) picture() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">
<title>%s</title>
%s<rect class="back" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>
%s</svg>
`, s.width, s.height, html.EscapeString(s.title), style, s.width-1, s.height-1, s.String())
}

// wrap breaks lines that are too long for a picture at spaces.
func wrap(lines []string) (out []string) {
	const columns = 84
	for _, line := range lines {
		for len(line) > columns {
			space := strings.LastIndexByte(line[:columns], ' ')
			out, line = append(out, line[:space]), "  "+line[space+1:]
		}
		out = append(out, line)
	}
	return out
}

// terminalPicture draws a command and its output.
func terminalPicture(title, command string, lines []string, marks []highlight) string {
	const left, top = 44, 34
	s := &svg{title: title}
	s.text(left, top, "bold", "$ "+command)
	lines = wrap(lines)
	columns, labeled := len(command)+2, map[string]bool{}
	for i, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
		y, class := top+(i+1)*lineHeight, ""
		for _, m := range marks {
			if !m.match.MatchString(line) {
				continue
			}
			class = m.class
			if m.label != "" && !labeled[m.label] {
				labeled[m.label] = true
				s.text(18, y, "label blue", m.label)
			}
			break
		}
		s.text(left, y, class, line)
	}
	s.width, s.height = 2*left+int(float64(columns)*columnWidth), top+(len(lines)+1)*lineHeight
	return s.picture()
}

// contribution matches a line of an explanation: the role of a line of a layer.
var contribution = regexp.MustCompile(`^    (\S+):\d+:\d+ +(default|constraint|pin) of (\S+) +\w+ +(.*)$`)

// layersPicture draws the layers of an explanation inside each other.
func layersPicture(t *testing.T, explain []string) string {
	t.Helper()
	type layer struct {
		title string
		lines []string
	}
	var layers []*layer
	for _, line := range explain {
		m := contribution.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		title := m[3] + ": " + filepath.Dir(m[1])
		if len(layers) == 0 || layers[len(layers)-1].title != title {
			layers = append(layers, &layer{title: title})
		}
		last := layers[len(layers)-1]
		last.lines = append(last.lines, fmt.Sprintf("%-10s %s", m[2], m[4]))
	}
	path, effective, _ := strings.Cut(explain[0], ": ")
	if len(layers) != 3 {
		t.Fatalf("%d layers", len(layers))
	}
	const width, step = 620, 24
	s := &svg{title: "Layers, one inside the other", width: width}
	y := 34
	s.text(step, y, "bold", strings.TrimPrefix(path, "releases.web.values.")+" of the release web")
	total := 0
	for _, l := range layers {
		total += (len(l.lines)+1)*lineHeight + step
	}
	y += 14
	for i, l := range layers {
		s.box(step*(i+1), y, width-2*step*(i+1), total-(y-48)+(2-i)*10)
		y += step
		s.text(step*(i+1)+16, y, "blue", l.title)
		for _, line := range l.lines {
			y += lineHeight
			s.text(step*(i+1)+16, y, "", line)
		}
		y += lineHeight
	}
	y += 3*10 + 20
	s.text(step, y, "green", "effective value in the cluster: "+effective)
	s.height = y + 20
	return s.picture()
}

// pipelinePicture draws the pipeline.
func pipelinePicture() string {
	const width, height, gap, top = 96, 40, 28, 60
	s := &svg{title: "The pipeline", width: 24 + 7*(width+gap), height: 150}
	x := 24
	for i, stage := range []string{"layers", "values", "types", "objects", "checks", "bundle"} {
		s.box(x, top, width, height)
		s.text(x+(width-int(float64(len(stage))*columnWidth))/2, top+25, "", stage)
		s.arrow(x+width+2, top+height/2, gap-4)
		switch i {
		case 0:
			s.text(x, top-24, "blue", "all clusters together")
			s.text(x, top+height+30, "dim", "fleetc vet")
		case 3:
			s.text(x, top-24, "blue", "each cluster, in parallel")
			s.text(x, top+height+30, "dim", "fleetc vet --render, build")
		}
		x += width + gap
	}
	for i, end := range []string{"export", "apply", "diff"} {
		s.text(x+8, top+height/2+5+(i-1)*lineHeight, "", end)
	}
	return s.picture()
}
