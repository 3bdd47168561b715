package main

import (
	"regexp"
	"sort"
	"strings"
)

// variables keeps the order in which they were set first.
type variables struct {
	names  []string
	values map[string]string
}

func newVariables() *variables { return &variables{values: map[string]string{}} }

func (v *variables) set(name, value string) {
	if _, known := v.values[name]; !known {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

func (v *variables) list() []string {
	list := make([]string, len(v.names))
	for index, name := range v.names {
		list[index] = name + "=" + v.values[name]
	}
	return list
}

var reference = regexp.MustCompile(`\$\$|\$\([A-Za-z_.-][A-Za-z0-9_.-]*\)`)

// expand replaces $(NAME) as Kubernetes does: of a variable that is not there it stays as it is, and $$ is a $.
func expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		if value, known := values[found[2:len(found)-1]]; known {
			return value
		}
		return found
	})
}

// mounts are the folders of this machine by the paths where a container has them.
type mounts map[string]string

// localise replaces every path below a mount. A path begins, and ends, where no path goes on.
func (m mounts) localise(text string) string {
	var local strings.Builder
	for at := 0; at < len(text); {
		path := ""
		if at == 0 || !inPath(text[at-1]) {
			path = m.longestAt(text[at:])
		}
		if path == "" {
			local.WriteByte(text[at])
			at++
			continue
		}
		local.WriteString(m[path])
		at += len(path)
	}
	return local.String()
}

// longestAt is the mount that the text begins with: of two, one of which is inside the other, the inner one.
func (m mounts) longestAt(text string) (longest string) {
	for path := range m {
		rest, found := strings.CutPrefix(text, path)
		if found && len(path) > len(longest) && (rest == "" || rest[0] == '/' || !inPath(rest[0])) {
			longest = path
		}
	}
	return longest
}

func inPath(char byte) bool {
	return strings.IndexByte("._-/", char) >= 0 ||
		('a' <= char && char <= 'z') || ('A' <= char && char <= 'Z') || ('0' <= char && char <= '9')
}

func sortedKeys[T any](values map[string]T) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

func each(texts []string, change func(string) string) []string {
	changed := make([]string, len(texts))
	for index, text := range texts {
		changed[index] = change(text)
	}
	return changed
}
