// Package scaffold writes the file that registers a new member: it checks the description, finds
// the path by the layout, and builds the fleet with the file before anybody writes it.
package scaffold
