package archive

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
)

// header is the first bytes of a program, which say what it runs on.
func header(t *testing.T, parts ...any) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, p := range parts {
		if err := binary.Write(&out, binary.LittleEndian, p); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func linux(t *testing.T, machine elf.Machine, segments ...elf.Prog64) []byte {
	t.Helper()
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: uint16(len(segments)),
	}
	return header(t, h, segments)
}

func darwin(t *testing.T, cpu macho.Cpu, kind macho.Type) []byte {
	t.Helper()
	return header(t, macho.FileHeader{Magic: macho.Magic64, Cpu: cpu, Type: kind}, uint32(0))
}

// An archive's program is one for the archive's platform, and for no other.
func TestProgramIsForItsPlatform(t *testing.T) {
	programs := map[string][]byte{
		"linux/amd64": linux(t, elf.EM_X86_64), "linux/arm64": linux(t, elf.EM_AARCH64),
		"darwin/amd64": darwin(t, macho.CpuAmd64, macho.TypeExec), "darwin/arm64": darwin(t, macho.CpuArm64, macho.TypeExec),
	}
	for of, program := range programs {
		for platform := range programs {
			system, arch, _ := strings.Cut(platform, "/")
			err := CheckProgram(program, system, arch)
			if want := "the program is for " + of + "; expected " + platform; of == platform && err != nil || of != platform && (err == nil || err.Error() != want) {
				t.Errorf("%s as %s: %v", of, platform, err)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckProgram(content, runtime.GOOS, runtime.GOARCH); err != nil && !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("this test itself: %v", err)
	}
}

func TestNoProgramIsRefused(t *testing.T) {
	for want, content := range map[string][]byte{
		"neither an ELF nor a Mach-O file":        []byte("#!/bin/sh\n"),
		"the program is for EM_RISCV":             linux(t, elf.EM_RISCV),
		"needs the system's libraries":            linux(t, elf.EM_X86_64, elf.Prog64{Type: uint32(elf.PT_INTERP)}),
		"a Mach-O file for CpuArm64, of type Obj": darwin(t, macho.CpuArm64, macho.TypeObj),
		"expected a program for amd64 or arm64":   darwin(t, macho.CpuPpc64, macho.TypeExec),
	} {
		if err := CheckProgram(content, "linux", "amd64"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
