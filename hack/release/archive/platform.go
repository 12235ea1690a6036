package archive

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"fmt"
)

// CheckProgram reports a program that does not run on a platform: another system's or another
// processor's, one that needs the system's libraries, or no program at all.
func CheckProgram(content []byte, system, arch string) error {
	found, err := platformOf(content)
	if err != nil {
		return err
	}
	if expected := system + "/" + arch; found != expected {
		return fmt.Errorf("the program is for %s; expected %s", found, expected)
	}
	return nil
}

// platformOf reads a program's platform from its first bytes.
func platformOf(content []byte) (string, error) {
	if f, err := elf.NewFile(bytes.NewReader(content)); err == nil {
		arch, is := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[f.Machine]
		if !is {
			return "", fmt.Errorf("the program is for %s; expected amd64 or arm64", f.Machine)
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return "", fmt.Errorf("the program for linux/%s needs the system's libraries; expected none: CGO_ENABLED=0", arch)
			}
		}
		return "linux/" + arch, nil
	}
	f, err := macho.NewFile(bytes.NewReader(content))
	if err != nil {
		return "", fmt.Errorf("neither an ELF nor a Mach-O file: %w", err)
	}
	arch, is := map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}[f.Cpu]
	if !is || f.Type != macho.TypeExec {
		return "", fmt.Errorf("a Mach-O file for %s, of type %s; expected a program for amd64 or arm64", f.Cpu, f.Type)
	}
	return "darwin/" + arch, nil
}
