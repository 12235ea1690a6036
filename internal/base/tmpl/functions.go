package tmpl

import (
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// allowed are the functions of sprig that templates may call. Their results depend only on their
// arguments, and their time and memory are linear in the sizes of arguments and result. Other names
// of sprig are our own functions (own_functions.go, expressions.go).
var allowed = strings.Fields(`
	all any coalesce default empty fail ternary
	kindIs kindOf typeIs typeIsLike typeOf deepEqual
	abbrev camelcase cat contains hasPrefix hasSuffix initials kebabcase lower nospace plural quote snakecase squote
	substr swapcase title toString toStrings trim trimPrefix trimSuffix trunc untitle upper
	b32dec b32enc b64dec b64enc adler32sum sha1sum sha256sum sha512sum
	base clean dir ext isAbs urlJoin urlParse
	add add1 sub mul div mod max min biggest ceil floor round int int64 float64 atoi
	append mustAppend push mustPush prepend mustPrepend concat compact mustCompact first mustFirst last mustLast
	initial mustInitial rest mustRest reverse mustReverse slice mustSlice has mustHas list tuple sortAlpha splitList
	dict dig get hasKey pick omit pluck deepCopy mustDeepCopy
	fromJson mustFromJson toJson mustToJson toPrettyJson mustToPrettyJson toRawJson mustToRawJson regexQuoteMeta`)

// instead maps functions that templates may not call to their replacements.
var instead = map[string]string{
	"set": "merge", "unset": "omit", "split": "splitList", "splitn": "splitList", "chunk": "slice", "abbrevboth": "abbrev", "untilStep": "until", "seq": "until",
	"semver": "semverCompare", "regexFindAll": "regexFind", "regexSplit": "splitList", "regexReplaceAllLiteral": "regexReplaceAll",
	"osBase": "base", "osClean": "clean", "osDir": "dir", "osExt": "ext", "osIsAbs": "isAbs", "tpl": "a file named .gotmpl",
	"env": "a label or an annotation of the cluster", "expandenv": "a label or an annotation of the cluster", "lookup": "a label or an annotation of the cluster",
	"include": "define and template", "now": "the date itself", "date": "the date itself",
	"genPrivateKey": "External Secrets", "genCA": "External Secrets", "genSelfSignedCert": "External Secrets", "genSignedCert": "External Secrets",
	"derivePassword": "External Secrets", "htpasswd": "External Secrets", "bcrypt": "External Secrets", "randAlphaNum": "External Secrets", "uuidv4": "a name of the cluster",
}

// Funcs returns the functions that a template may call, besides text/template's own that compare
// and combine conditions.
func Funcs() template.FuncMap {
	all, out := sprig.TxtFuncMap(), template.FuncMap{}
	for _, name := range allowed {
		if f := all[name]; f != nil {
			out[name] = f
		}
	}
	maps.Copy(out, own(all))
	return out
}

var (
	funcs = Funcs()
	// names are the names of all functions, for "did you mean".
	names = slices.Sorted(maps.Keys(withBuiltins(funcs)))
)

func withBuiltins(f template.FuncMap) map[string]any {
	out := map[string]any{}
	maps.Copy(out, f)
	maps.Copy(out, builtins)
	return out
}
