package validate

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// cronJob checks the schedule of a CronJob.
func (w *walk) cronJob(m map[string]any) {
	if text, ok := m["schedule"].(string); ok && text != "" {
		switch fault := scheduleFault(text); {
		case strings.Contains(text, "TZ"):
			w.add("set timeZone", "is "+w.show(text)+", which contains a time zone", "schedule")
		case fault != "":
			w.add("write it as minute hour day month weekday, such as 30 4 * * 1-5", "is "+w.show(text)+": "+fault, "schedule")
		}
	}
	if zone, ok := m["timeZone"].(string); ok && (zone == "" || strings.EqualFold(zone, "local")) {
		w.add("name one such as Europe/Vienna", "is "+w.show(zone)+", which is not a valid time zone", "timeZone")
	}
	for _, f := range []string{"startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"} {
		w.within(m, f, 0, unbounded)
	}
}

// A cronField is one of the five fields of a schedule.
type cronField struct {
	name      string
	low, high int
	words     []string // names of the values from low on
}

var cronFields = [5]cronField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"weekday", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// scheduleFault returns the error in a schedule, or an empty string.
func scheduleFault(text string) string {
	if name, ok := strings.CutPrefix(text, "@"); ok {
		every, isEvery := strings.CutPrefix(name, "every ")
		if isEvery {
			if _, err := time.ParseDuration(every); err != nil {
				return "after @every comes a duration such as 1h30m"
			}
			return ""
		}
		if slices.Contains([]string{"yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly"}, name) {
			return ""
		}
		return "after @ comes yearly, monthly, weekly, daily, hourly or every"
	}
	given := strings.Fields(text)
	if len(given) != len(cronFields) {
		return "it has " + strconv.Itoa(len(given)) + " parts, not five"
	}
	for i, f := range cronFields {
		for part := range strings.SplitSeq(given[i], ",") {
			if part != "" && !f.takes(part) {
				return shorten(part) + " is not a valid " + f.name + ": use " + strconv.Itoa(f.low) + " to " + strconv.Itoa(f.high)
			}
		}
	}
	return ""
}

// takes reports whether a value, range or step is valid for the field: 5, 1-5,
// */15, mon-fri.
func (f cronField) takes(part string) bool {
	rest, step, stepped := strings.Cut(part, "/")
	if stepped {
		if n, err := strconv.ParseUint(step, 10, 31); err != nil || n == 0 {
			return false
		}
	}
	from, to, isRange := strings.Cut(rest, "-")
	if from == "*" || from == "?" {
		return true
	}
	low, ok := f.value(from)
	if !ok || !isRange {
		return ok
	}
	high, ok := f.value(to)
	return ok && low <= high
}

func (f cronField) value(text string) (n int, ok bool) {
	if i := slices.Index(f.words, strings.ToLower(text)); i >= 0 {
		return f.low + i, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= f.low && n <= f.high
}
