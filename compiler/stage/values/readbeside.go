package values

import "bytes"

// Sinks of which only the adjacent lines show whether they take a map or a list.
var (
	mapSink  = &shape{form: mapForm}
	listSink = &shape{form: listForm}
)

// beside returns the sink of an action at the offset by the lines next to it:
// further keys of a map, or further elements of a list. It returns nil when they
// show neither. With own, the action prints whole lines with that indentation;
// without, it prints at its position in the line.
func (l *layout) beside(offset int, own bool, indent int) *shape {
	n, text := l.before(offset)
	if n >= len(l.lines) {
		return nil
	}
	cut := l.line(text, l.starts[n])
	column := indent
	switch {
	case own:
	case !cut.blank || bytes.IndexByte(text, blot) >= 0:
		return nil
	default:
		column += len(text)
	}
	if own && cut.key != "" && cut.value == "" && cut.column == column {
		return listSink // a map would be beside its key
	}
	here := l.blockAt(offset - 1)
	if cut.blank {
		for i := n - 1; i >= 0; i-- {
			if s, more := l.neighbour(i, here, column, true); !more {
				return s
			}
		}
	}
	return l.below(n, here, column)
}

// below examines the lines below the one of the action.
func (l *layout) below(n int, here *block, column int) *shape {
	for i := n + 1; i < len(l.lines); i++ {
		if s, more := l.neighbour(i, here, column, false); !more {
			return s
		}
	}
	return nil
}

// neighbour returns the sink that the line shows for output at the column, and
// whether to examine a further line. With above, the output may be the list of a
// key without a value.
func (l *layout) neighbour(i int, here *block, column int, above bool) (s *shape, more bool) {
	line := &l.lines[i]
	l.looked++
	switch within := here.defined(); {
	case line.ends, within != line.block.defined():
		return nil, false
	case line.blank, line.block.beside(here):
		return nil, true
	case line.item && line.indent == column:
		return listSink, false
	case line.column > column:
		return nil, above
	case line.column < column || line.item || line.key == "" || above && line.value == "" && !line.filled:
		return nil, false
	}
	return mapSink, false
}

// isDocument reports whether the action at the offset prints a whole document,
// which is a map: no other line is between the separators around it. The template
// must not be a definition, whose output can be part of a document.
func (l *layout) isDocument(offset int) bool {
	n, text := l.before(offset)
	if n >= len(l.lines) || !l.lines[n].blank || len(text) > 0 || l.blockAt(offset-1).defined() != nil {
		return false
	}
	separated := false
	for i := n - 1; i >= 0 && !separated; i-- {
		l.looked++
		if separated = l.lines[i].ends; !separated && !l.lines[i].blank {
			return false
		}
	}
	for i := n + 1; separated && i < len(l.lines) && !l.lines[i].ends; i++ {
		l.looked++
		if !l.lines[i].blank {
			return false
		}
	}
	return separated
}
