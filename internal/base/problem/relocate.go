package problem

import "reflect"

var posType = reflect.TypeFor[Pos]()

// Relocate returns a report with each position replaced by to(position). It copies what the report
// shares with others before it changes it.
func Relocate[T any](report T, to func(Pos) Pos) T {
	v := reflect.New(reflect.TypeFor[T]()).Elem()
	v.Set(relocated(reflect.ValueOf(&report).Elem(), to))
	out, _ := v.Interface().(T)
	return out
}

func relocated(v reflect.Value, to func(Pos) Pos) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		if pos, is := v.Interface().(Pos); is && v.Type() == posType {
			return reflect.ValueOf(to(pos))
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(relocated(v.Field(i), to))
			}
		}
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(relocated(v.Index(i), to))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(relocated(v.Elem(), to))
		}
	case reflect.Map:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Interface {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, k := range v.MapKeys() {
				out.SetMapIndex(k, relocated(v.MapIndex(k), to))
			}
		}
	}
	return out
}
