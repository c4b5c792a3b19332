<#
Runs tomoprof on Windows: in containers (Docker Desktop) or in WSL.
  .\start.ps1                       a menu where a person sits at it, else the quick suite in a container
  .\start.ps1 docker [SERVICE] ...  words for tomoprof, as in: .\start.ps1 docker record -- python my.py
  .\start.ps1 gpu-check             checks the GPU in a container, in at most 10 minutes; leaves an archive in output
  .\start.ps1 wsl ...               start.sh with these words in the default WSL distribution
  .\start.ps1 help                  this text
Services: profiler profiler-full gpu-check cpu test nsys (compose.yaml). Without NVIDIA's runtime in the engine the CPU computes.
#>
$ErrorActionPreference = 'Stop'
Set-Location $PSScriptRoot

function Show-Usage {
    Get-Content $PSCommandPath | Select-Object -Skip 1 -First 7
}

# What compose gets when it is called by itself: .env beside compose.yaml, unless that is somebody's own.
function Save-Gpu([string] $Gpu) {
    $mark = '# Written by start.ps1, each time anew; without this line it is yours and stays.'
    if (-not (Test-Path .env) -or (Get-Content .env -TotalCount 1) -eq $mark) {
        Set-Content .env -Encoding ascii $mark, "TOMOPROF_GPU=$Gpu"
    }
}

# The exit code of the last program becomes that of this script.
function Invoke-Container([string[]] $Words) {
    if (-not (Get-Command docker -ErrorAction SilentlyContinue)) {
        [Console]::Error.WriteLine('start.ps1 needs Docker Desktop (https://docs.docker.com/desktop), or WSL: .\start.ps1 wsl')
        exit 1
    }
    $ErrorActionPreference = 'Continue' # Windows PowerShell takes what docker says on stderr for a failure
    $facts = docker info --format '{{json .}}' 2>$null
    if ($LASTEXITCODE -ne 0) {
        [Console]::Error.WriteLine('No container engine answers: start Docker Desktop, then run this again.')
        exit 1
    }
    $gpu = if ("$facts" -match '"nvidia|nvidia\.com/gpu') { 'nvidia' } else { 'none' }
    if ($gpu -eq 'nvidia') {
        # Docker Desktop lists NVIDIA's runtime on machines without a GPU too: a container that asks for one would not start.
        $base = 'debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241'
        $null = docker run --rm --gpus all --env NVIDIA_DRIVER_CAPABILITIES=utility $base nvidia-smi -L 2>$null
        if ($LASTEXITCODE -ne 0) {
            $gpu = 'none'
            [Console]::Error.WriteLine('This container engine has the runtime of NVIDIA, but gives a container no GPU.')
        }
    }
    Save-Gpu $gpu
    if (-not $env:TOMOPROF_GPU) { $env:TOMOPROF_GPU = $gpu }
    $service = 'profiler'
    $services = 'profiler', 'profiler-full', 'gpu-check', 'cpu', 'test', 'nsys'
    if ($Words.Count -gt 0 -and $services -contains $Words[0]) {
        $service = $Words[0]
        $Words = @($Words | Select-Object -Skip 1)
    }
    elseif ($env:TOMOPROF_GPU -eq 'none') {
        $service = 'cpu'
        [Console]::Error.WriteLine('This container engine has no NVIDIA runtime that works, so the CPU computes.')
    }
    New-Item -ItemType Directory -Force output | Out-Null
    docker compose build $service
    if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }
    docker compose run --rm $service @Words
}

function Get-Run {
    if (Test-Path output) {
        Get-ChildItem output -Directory -Filter '2*Z*' | Sort-Object Name -Descending | Select-Object -First 20
    }
}

function Show-Run {
    $number = 0
    foreach ($run in Get-Run) {
        $number++
        $size = (Get-ChildItem $run.FullName -Recurse -File | Measure-Object Length -Sum).Sum
        $record = Join-Path $run.FullName 'record.json'
        $headline = 'suite'
        if (Test-Path $record) { $headline = (Get-Content $record -Raw | ConvertFrom-Json).command -join ' ' }
        '{0,3}  {1}  {2,8:N1} MB  {3}' -f $number, $run.Name, ($size / 1048576), $headline
    }
    if ($number -eq 0) { 'No runs yet.' }
}

function Select-Run([string] $Question) {
    $answer = Read-Host "$Question (number, Enter for none)"
    if ($answer -match '^[1-9][0-9]?$') {
        return (Get-Run | Select-Object -Skip ([int] $answer - 1) -First 1)
    }
}

function Open-Report($Run) {
    $page = Join-Path $Run.FullName 'report.html'
    if (Test-Path $page) { Invoke-Item $page } else { Write-Output "No report.html in $($Run.FullName)" }
}

function Show-Menu {
    while ($true) {
        Write-Output '' '  p  Profile a program' '  s  Reconstruct a scan' '  l  Find the fastest way to load a file' '  r  Run the quick suite' '  v  View a past run' '  c  Compare two runs' '  d  Doctor' '  q  Quit'
        switch (Read-Host 'Choice') {
            'p' {
                $line = Read-Host 'Command line of the program, as it runs in the container (Enter for none)'
                if ($line) {
                    Invoke-Container @('record', '--', 'bash', '-c', $line)
                    $newest = Get-Run | Select-Object -First 1
                    if ($newest) { Open-Report $newest }
                }
            }
            'l' {
                $file = Read-Host 'File below output\ to load (Enter for none)'
                if ($file) { Invoke-Container @('load', "output/$file", '--sweep', 'quick') }
            }
            's' {
                $scan = Read-Host 'Scan below output\ (.h5; Enter for none)'
                if ($scan) {
                    $name = [System.IO.Path]::GetFileNameWithoutExtension($scan)
                    Invoke-Container @('recon', '--in', "output/$scan", '--out', "output/$name.nii")
                }
            }
            'r' {
                Invoke-Container @()
                $newest = Get-Run | Select-Object -First 1
                if ($newest) { Open-Report $newest }
            }
            'v' {
                Show-Run
                $run = Select-Run 'View which'
                if ($run) { Open-Report $run }
            }
            'c' {
                Show-Run
                $first = Select-Run 'Before'
                $second = Select-Run 'After'
                if ($first -and $second) {
                    Invoke-Container @('compare', "output/$($first.Name)", "output/$($second.Name)")
                }
            }
            'd' { Invoke-Container @('doctor') }
            'q' { return }
            default { Write-Output 'p, s, l, r, v, c, d or q' }
        }
    }
}

if ($args.Count -eq 0) {
    if ([Environment]::UserInteractive -and -not [Console]::IsInputRedirected) { Show-Menu }
    else { Invoke-Container @() }
    exit $LASTEXITCODE
}
$rest = @($args | Select-Object -Skip 1)
switch ($args[0]) {
    'docker' { Invoke-Container $rest }
    'gpu-check' { Invoke-Container @('gpu-check') }
    'wsl' { wsl.exe --cd $PSScriptRoot ./start.sh @rest }
    { $_ -in 'help', '--help', '-h' } {
        Show-Usage
        exit 0
    }
    default {
        Show-Usage
        exit 2
    }
}
exit $LASTEXITCODE
