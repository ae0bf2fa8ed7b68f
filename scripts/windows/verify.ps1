<#
.SYNOPSIS
Runs wirestamp once on a real Windows 11 or Windows Server 2022 and prints a report to paste into an
issue: wirestamp's Windows half was built and tested under Wine and against a model, never on
Windows. Changes nothing: no setting, no adapter, no file except the report.

.DESCRIPTION
The questions are those that no document answers: which adapters say what, which numbers calls
answer with, whether stamps really come. Nothing in the report names you; it holds the names,
addresses and drivers of network adapters. Look it over before you publish it.

.PARAMETER Program
The program to run: wirestamp.exe, built with "cargo build --release -p wirestamp-cli".

.PARAMETER Adapter
The adapter to measure on, by its name ("Ethernet"). Left out: every adapter is asked, none measured.

.PARAMETER Peer
A UDP echo service at the other end of that adapter, as ADDRESS:PORT.

.PARAMETER Report
The file to write the report to besides.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File verify.ps1 -Program .\wirestamp.exe -Adapter Ethernet -Peer 192.0.2.1:7
#>
param(
    [string] $Program = '.\wirestamp.exe',
    [string] $Adapter = '',
    [string] $Peer = '',
    [string] $Report = 'wirestamp-windows-report.txt'
)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Continue'
$lines = New-Object System.Collections.Generic.List[string]

function Say([string] $text) { $lines.Add($text); Write-Output $text }

function Section([string] $title) { Say ''; Say "## $title" }

# Runs wirestamp and reports what it says and how it ends.
function Run([string[]] $arguments) {
    Say ''
    Say ('$ wirestamp ' + ($arguments -join ' '))
    $output = & $Program @arguments 2>&1
    foreach ($line in $output) { Say ([string] $line) }
    Say "exit code $LASTEXITCODE"
}

# The interface as its DLLs have it, called directly: independent of wirestamp.
$source = @'
using System;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Threading;

public static class Probe {
    [DllImport("kernel32", CharSet = CharSet.Ansi)] static extern IntPtr LoadLibrary(string name);
    [DllImport("kernel32", CharSet = CharSet.Ansi)] static extern IntPtr GetProcAddress(IntPtr library, string name);
    [DllImport("iphlpapi", CharSet = CharSet.Unicode)] static extern uint ConvertInterfaceAliasToLuid(string alias, out ulong luid);
    [DllImport("ws2_32", SetLastError = true)]
    static extern int WSAIoctl(IntPtr socket, uint code, byte[] input, int inputLength, byte[] output, int outputLength,
        out int returned, IntPtr overlapped, IntPtr routine);
    [DllImport("ws2_32")] static extern int WSAGetLastError();

    delegate uint Query(ref ulong luid, byte[] output);
    delegate void Changed(IntPtr context);
    delegate uint Register(Changed callback, IntPtr context, out IntPtr handle);
    delegate void Unregister(IntPtr handle);

    const uint SIO_TIMESTAMPING = 0x980000EB, SIO_GET_TX_TIMESTAMP = 0x980000EA;

    static IntPtr Find(string name) { return GetProcAddress(LoadLibrary("iphlpapi.dll"), name); }

    public static bool Exports(string name) { return Find(name) != IntPtr.Zero; }

    // A function that takes a LUID and fills a structure: its result, and the 32 bytes after the call.
    public static string Ask(string function, string alias) {
        IntPtr found = Find(function);
        if (found == IntPtr.Zero) return "not exported";
        ulong luid;
        uint converted = ConvertInterfaceAliasToLuid(alias, out luid);
        if (converted != 0) return "no LUID: " + converted;
        return AskLuid(found, luid);
    }

    public static string AskUnknown(string function) {
        IntPtr found = Find(function);
        return found == IntPtr.Zero ? "not exported" : AskLuid(found, 0x0006FFFFFF000000);
    }

    static string AskLuid(IntPtr found, ulong luid) {
        Query query = (Query)Marshal.GetDelegateForFunctionPointer(found, typeof(Query));
        byte[] output = new byte[64];
        for (int place = 24; place < 64; place++) output[place] = 0xAA;
        uint result = query(ref luid, output);
        int written = 64;
        while (written > 24 && output[written - 1] == 0xAA) written--;
        return String.Format("result {0}, bytes touched {1}: {2}", result, written == 24 ? "at most 24" : written.ToString(),
            BitConverter.ToString(output, 0, 32));
    }

    // Registers twice for a while; tells results, threads and calls.
    public static string Watch(int milliseconds) {
        IntPtr register = Find("RegisterInterfaceTimestampConfigChange"), unregister = Find("UnregisterInterfaceTimestampConfigChange");
        if (register == IntPtr.Zero || unregister == IntPtr.Zero) return "not exported";
        int calls = 0;
        string threads = "";
        Changed callback = delegate(IntPtr context) { calls++; threads += " " + Thread.CurrentThread.ManagedThreadId; };
        IntPtr first, second, third;
        Register on = (Register)Marshal.GetDelegateForFunctionPointer(register, typeof(Register));
        Unregister off = (Unregister)Marshal.GetDelegateForFunctionPointer(unregister, typeof(Unregister));
        uint one = on(callback, IntPtr.Zero, out first), two = on(callback, IntPtr.Zero, out second);
        uint none = on(null, IntPtr.Zero, out third);
        int atOnce = calls;
        Thread.Sleep(milliseconds);
        if (one == 0) off(first);
        if (two == 0) off(second);
        GC.KeepAlive(callback);
        return String.Format("results {0} {1}, without a callback {2}; calls at once {3}, later {4}, on threads{5}, this is {6}",
            one, two, none, atOnce, calls - atOnce, threads, Thread.CurrentThread.ManagedThreadId);
    }

    static string Ioctl(Socket socket, uint code, byte[] input, int length, int room) {
        byte[] output = new byte[Math.Max(room, 1)];
        int returned;
        int result = WSAIoctl(socket.Handle, code, input, length, room == 0 ? null : output, room, out returned, IntPtr.Zero, IntPtr.Zero);
        return result == 0 ? "ok, " + returned + " bytes" : "error " + WSAGetLastError();
    }

    static byte[] Config(uint flags, ushort capacity) {
        byte[] config = new byte[8];
        BitConverter.GetBytes(flags).CopyTo(config, 0);
        BitConverter.GetBytes(capacity).CopyTo(config, 4);
        return config;
    }

    static Socket Datagram() {
        Socket socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        return socket;
    }

    // What no page tells of the two ioctls.
    public static string[] Ioctls() {
        System.Collections.Generic.List<string> said = new System.Collections.Generic.List<string>();
        byte[] id = BitConverter.GetBytes(7u);
        using (Socket socket = Datagram()) {
            said.Add("fetch before enabling: " + Ioctl(socket, SIO_GET_TX_TIMESTAMP, id, 4, 8));
            said.Add("enable both, capacity 16: " + Ioctl(socket, SIO_TIMESTAMPING, Config(3, 16), 8, 0));
            said.Add("fetch an id never sent: " + Ioctl(socket, SIO_GET_TX_TIMESTAMP, id, 4, 8));
            said.Add("fetch with room for 4 bytes: " + Ioctl(socket, SIO_GET_TX_TIMESTAMP, id, 4, 4));
            said.Add("fetch with an id of 2 bytes: " + Ioctl(socket, SIO_GET_TX_TIMESTAMP, id, 2, 8));
            said.Add("capacity 0: " + Ioctl(socket, SIO_TIMESTAMPING, Config(2, 0), 8, 0));
            said.Add("capacity 65535: " + Ioctl(socket, SIO_TIMESTAMPING, Config(2, 65535), 8, 0));
            said.Add("unknown flag 0x80: " + Ioctl(socket, SIO_TIMESTAMPING, Config(0x83, 16), 8, 0));
            said.Add("input of 4 bytes: " + Ioctl(socket, SIO_TIMESTAMPING, Config(3, 16), 4, 0));
            said.Add("input of 6 bytes: " + Ioctl(socket, SIO_TIMESTAMPING, Config(3, 16), 6, 0));
            said.Add("off: " + Ioctl(socket, SIO_TIMESTAMPING, Config(0, 0), 8, 0));
            said.Add("fetch after switching off: " + Ioctl(socket, SIO_GET_TX_TIMESTAMP, id, 4, 8));
        }
        using (Socket socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)) {
            said.Add("enable on a TCP socket: " + Ioctl(socket, SIO_TIMESTAMPING, Config(3, 16), 8, 0));
        }
        using (Socket socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp)) {
            said.Add("enable before bind: " + Ioctl(socket, SIO_TIMESTAMPING, Config(3, 16), 8, 0));
        }
        return said.ToArray();
    }
}
'@

Say '# wirestamp on Windows: report'
Say "made by verify.ps1 on $(Get-Date -Format 'yyyy-MM-dd')"

Section 'System'
$system = Get-CimInstance Win32_OperatingSystem
Say ('{0}, version {1}, {2}' -f $system.Caption, $system.Version, $system.OSArchitecture)
Say ('update {0}' -f (Get-ItemProperty 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion').UBR)
Say ('performance counter: {0} Hz' -f [Diagnostics.Stopwatch]::Frequency)
$elevated = ([Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()).IsInRole(
    [Security.Principal.WindowsBuiltInRole]::Administrator)
Say "elevated: $elevated"
$service = Get-ItemProperty 'HKLM:\SYSTEM\CurrentControlSet\Services\W32Time\TimeProviders\PtpClient' -ErrorAction SilentlyContinue
Say ('PTP client of the time service: ' + $(if ($service) { "Enabled=$($service.Enabled)" } else { 'not configured' }))

Section 'Adapters and their drivers'
foreach ($one in Get-NetAdapter -IncludeHidden | Where-Object { $_.Status -ne 'Not Present' }) {
    Say ('{0}: {1}, {2}, driver {3} {4}, NDIS {5}' -f $one.Name, $one.InterfaceDescription, $one.Status,
        $one.DriverProvider, $one.DriverVersionString, $one.NdisVersion)
    $properties = Get-NetAdapterAdvancedProperty -Name $one.Name -AllProperties -ErrorAction SilentlyContinue |
        Where-Object { $_.RegistryKeyword -match 'Timestamp' }
    foreach ($property in $properties) {
        Say ('    {0} = {1}, of {2}' -f $property.RegistryKeyword, ($property.RegistryValue -join ','), ($property.ValidRegistryValues -join ','))
    }
}

Add-Type -TypeDefinition $source
Section 'The interface itself, asked without wirestamp'
$functions = 'GetInterfaceSupportedTimestampCapabilities', 'GetInterfaceActiveTimestampCapabilities',
    'CaptureInterfaceHardwareCrossTimestamp'
foreach ($name in $functions + 'RegisterInterfaceTimestampConfigChange', 'UnregisterInterfaceTimestampConfigChange',
    'GetInterfaceCurrentTimestampCapabilities', 'GetInterfaceHardwareTimestampCapabilities',
    'NotifyIfTimestampConfigChange', 'CancelIfTimestampConfigChange') {
    Say ('{0}: {1}' -f $name, $(if ([Probe]::Exports($name)) { 'exported' } else { 'not exported' }))
}
# On builds that have the older interface alone, calling it is what must not be done.
if ([Probe]::Exports('GetInterfaceActiveTimestampCapabilities')) {
    foreach ($one in Get-NetAdapter -IncludeHidden | Where-Object { $_.Status -ne 'Not Present' }) {
        foreach ($name in $functions) { Say ('{0}({1}): {2}' -f $name, $one.Name, [Probe]::Ask($name, $one.Name)) }
    }
    foreach ($name in $functions) { Say ('{0}(a LUID of nobody): {1}' -f $name, [Probe]::AskUnknown($name)) }
    Say ('notifications: ' + [Probe]::Watch(3000))
}
foreach ($line in [Probe]::Ioctls()) { Say $line }

Section 'wirestamp'
Run @('--version')
Run @('interfaces', '--json')
foreach ($one in Get-NetAdapter | Where-Object { $_.Status -eq 'Up' }) { Run @('capabilities', $one.Name, '--json') }
Run @('doctor')
Run @('latency', '--count', '1000')
Run @('watch', '--for', '2s')
if ($Adapter) {
    Run @('doctor', $Adapter)
    Run @('cross', $Adapter, '--count', '50')
    if ($Peer) {
        Run @('capabilities', $Adapter, '--probe', $Peer)
        Run @('latency', $Adapter, '--peer', $Peer, '--count', '2000')
        Run @('latency', $Adapter, '--peer', $Peer, '--count', '2000', '--source', 'hardware')
    }
}

[IO.File]::WriteAllLines((Join-Path (Get-Location) $Report), $lines)
Write-Output ''
Write-Output "The report is in $Report. Please look it over, then paste it into an issue."
