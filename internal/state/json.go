package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// errNotWritten is what JSON is that nobody has written so: a decoder would leave out what it does not know, or fill in what
// is not there, and half of a record would be used.
var errNotWritten = errors.New("it is not as it was written")

// Unmarshal reads JSON that json.Marshal has written of the same type; anything else is an error.
func Unmarshal(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	return Written(data, into)
}

// UnmarshalVersion is Unmarshal for what says its version, as a number in its field version.
func UnmarshalVersion(data []byte, version int, into any) error {
	var is struct{ Version int }
	if err := json.Unmarshal(data, &is); err != nil {
		return err
	}
	if is.Version != version {
		return fmt.Errorf("it is of version %d; expected %d", is.Version, version)
	}
	return Unmarshal(data, into)
}

// Written reports whether data is a value as json.Marshal writes it; an error if not.
func Written(data []byte, value any) error {
	again, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if !bytes.Equal(again, data) {
		return errNotWritten
	}
	return nil
}
