<#
.SYNOPSIS
Runs wirestamp once on a real Windows 11 or Windows Server 2022 and prints a report to paste into an
issue: wirestamp's Windows half was built and tested under Wine and against a model, never on
Windows. Changes nothing: no setting, no adapter, no file except the report; with -Restart it
restarts the adapter.

.DESCRIPTION
The questions are those that no document answers, with the numbers that PLATFORM.md gives them: which
adapters say what, which numbers calls answer with, whether timestamps really come. They are asked by
two programs; this script starts them and adds what the system says of itself. Nothing in the report names you; it holds the names,
addresses and drivers of network adapters. Look it over before you publish it.

.PARAMETER Program
The program to run: wirestamp.exe, built with "cargo build --release -p wirestamp-cli".

.PARAMETER Probe
The program that asks without wirestamp: windows_probe.exe, built with
"cargo build --release -p wirestamp-sys --example windows_probe" (in target\release\examples).

.PARAMETER Facts
The program that compares answers of Winsock with what is known of Windows: facts.exe, built from
crates/wirestamp-win32/tests/c/facts.c (its first comment says how). Left out if there is none.

.PARAMETER Adapter
The adapter to measure on, by its name ("Ethernet"). Left out: every adapter is asked, none measured.

.PARAMETER Peer
A UDP echo service at the other end of that adapter, as ADDRESS:PORT.

.PARAMETER Restart
Restart the adapter meanwhile, to see how that is told. Needs an elevated prompt; the adapter's
connections break.

.PARAMETER Report
The file to write the report to besides.

.EXAMPLE
powershell -ExecutionPolicy Bypass -File verify.ps1 -Program .\wirestamp.exe -Adapter Ethernet -Peer 192.0.2.1:7
#>
param(
    [string] $Program = '.\wirestamp.exe',
    [string] $Probe = '.\windows_probe.exe',
    [string] $Facts = '.\facts.exe',
    [string] $Adapter = '',
    [string] $Peer = '',
    [switch] $Restart,
    [string] $Report = 'wirestamp-windows-report.txt'
)
Set-StrictMode -Version Latest
$ErrorActionPreference = 'Continue'
$lines = New-Object System.Collections.Generic.List[string]

function Say([string] $text) { $lines.Add($text); Write-Output $text }

function Section([string] $title) { Say ''; Say "## $title" }

# Runs a program and reports what it says and how it ends.
function Run([string] $what, [string[]] $arguments) {
    Say ''
    Say ('$ ' + (Split-Path -Leaf $what) + ' ' + ($arguments -join ' '))
    $output = & $what @arguments 2>&1
    foreach ($line in $output) { Say ([string] $line) }
    Say "exit code $LASTEXITCODE"
}

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
    Say ('{0}: {1}, {2}, driver {3} {4}, NDIS {5}, virtual: {6}' -f $one.Name, $one.InterfaceDescription, $one.Status,
        $one.DriverProvider, $one.DriverVersionString, $one.NdisVersion, $one.Virtual)
    $properties = Get-NetAdapterAdvancedProperty -Name $one.Name -AllProperties -ErrorAction SilentlyContinue |
        Where-Object { $_.RegistryKeyword -match 'Timestamp' }
    foreach ($property in $properties) {
        Say ('    {0} = {1}, of {2}' -f $property.RegistryKeyword, ($property.RegistryValue -join ','), ($property.ValidRegistryValues -join ','))
    }
}

# The setting of Server 2019, which newer builds may still read: 1 to 5, as *SoftwareTimestamp.
$class = 'HKLM:\SYSTEM\CurrentControlSet\Control\Class\{4d36e972-e325-11ce-bfc1-08002be10318}'
foreach ($key in Get-ChildItem $class -ErrorAction SilentlyContinue) {
    $setting = $key.GetValue('SoftwareTimestampSettings')
    if ($null -ne $setting) { Say ('{0}: SoftwareTimestampSettings = {1}' -f $key.GetValue('DriverDesc'), $setting) }
}

Section 'What lies between'
foreach ($one in Get-NetAdapterBinding -AllBindings -ErrorAction SilentlyContinue | Where-Object { $_.Enabled -and $_.ComponentClass -eq 'Service' }) {
    Say ('{0}: {1} ({2})' -f $one.Name, $one.DisplayName, $one.ComponentID)
}
# Not every edition has these.
if (Get-Command Get-VMSwitch -ErrorAction SilentlyContinue) {
    foreach ($one in Get-VMSwitch -ErrorAction SilentlyContinue) { Say ('virtual switch {0}: {1}' -f $one.Name, $one.SwitchType) }
}
if (Get-Command Get-NetLbfoTeam -ErrorAction SilentlyContinue) {
    foreach ($one in Get-NetLbfoTeam -ErrorAction SilentlyContinue) { Say ('team {0}: {1}' -f $one.Name, ($one.Members -join ', ')) }
}

Section 'The interface itself, asked without wirestamp'
$asked = @()
if ($Adapter) { $asked += $Adapter }
if ($Adapter -and $Peer) { $asked += $Peer }
if ($Restart -and $Adapter) {
    # While the probe listens for notifications: what a restart tells, and on which threads.
    $job = Start-Job -ArgumentList $Adapter -ScriptBlock { param($name) Start-Sleep 1; Restart-NetAdapter -Name $name }
    Run $Probe @()
    Receive-Job $job -Wait -AutoRemoveJob
    Start-Sleep 10
}
Run $Probe $asked

# Control data that was cut, the last error after a success, FIONREAD, completion ports and more.
if (Test-Path $Facts) {
    Section 'Answers of Winsock, compared with the sources'
    Run $Facts @()
}

Section 'wirestamp'
Run $Program @('--version')
Run $Program @('interfaces', '--json')
foreach ($one in Get-NetAdapter | Where-Object { $_.Status -eq 'Up' }) { Run $Program @('capabilities', $one.Name, '--json') }
Run $Program @('doctor')
Run $Program @('latency', '--count', '1000')
Run $Program @('watch', '--for', '2s')
if ($Adapter) {
    Run $Program @('doctor', $Adapter)
    Run $Program @('cross', $Adapter, '--count', '50')
    if ($Peer) {
        Run $Program @('capabilities', $Adapter, '--probe', $Peer)
        Run $Program @('latency', $Adapter, '--echo', $Peer, '--count', '2000')
        Run $Program @('latency', $Adapter, '--echo', $Peer, '--count', '2000', '--source', 'hardware')
    }
}

[IO.File]::WriteAllLines((Join-Path (Get-Location) $Report), $lines)
Write-Output ''
Write-Output "The report is in $Report. Please look it over, then paste it into an issue."
