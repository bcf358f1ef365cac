package owner

import "slices"

// find returns the first item that matches.
func find[T any](items []T, match func(T) bool) (item T, ok bool) {
	if i := slices.IndexFunc(items, match); i >= 0 {
		return items[i], true
	}
	return item, false
}

// count returns how many items match.
func count[T any](items []T, match func(T) bool) int {
	n := 0
	for _, item := range items {
		if match(item) {
			n++
		}
	}
	return n
}

// The function without() returns a copy of items that leaves out those that match.
func without[T any](items []T, match func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(items), match)
}

// changed returns a copy of items. It calls the function change for each matching item
// of the copy.
func changed[T any](items []T, match func(T) bool, change func(*T)) []T {
	items = slices.Clone(items)
	for i := range items {
		if match(items[i]) {
			change(&items[i])
		}
	}
	return items
}
