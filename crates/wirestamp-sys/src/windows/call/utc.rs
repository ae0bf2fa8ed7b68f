//! The calls that set the real-time clock, and those that find other programs that may set it.

use std::ffi::c_void;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::{io, mem, ptr};
use windows_sys::Win32::Foundation::{
    ERROR_NOT_ALL_ASSIGNED, FILETIME, GetLastError, LUID, SYSTEMTIME,
};
use windows_sys::Win32::Security::{
    AdjustTokenPrivileges, GetLengthSid, GetTokenInformation, LUID_AND_ATTRIBUTES,
    LookupPrivilegeValueW, SE_PRIVILEGE_ENABLED, TOKEN_ADJUST_PRIVILEGES, TOKEN_PRIVILEGES,
    TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::System::Services::{
    CloseServiceHandle, OpenSCManagerW, OpenServiceW, QueryServiceStatus, SC_MANAGER_CONNECT,
    SERVICE_QUERY_STATUS, SERVICE_RUNNING, SERVICE_STATUS,
};
use windows_sys::Win32::System::SystemInformation::SetSystemTime;
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};
use windows_sys::Win32::System::Time::FileTimeToSystemTime;

/// `GetSystemTimeAdjustmentPrecise`
pub(in super::super) type GetAdjustment =
    unsafe extern "system" fn(*mut u64, *mut u64, *mut i32) -> i32;
/// `SetSystemTimeAdjustmentPrecise`
pub(in super::super) type SetAdjustment = unsafe extern "system" fn(u64, i32) -> i32;

fn succeeded(answer: i32) -> io::Result<()> {
    if answer == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Returns the current and the nominal ticks per second, and whether nobody adjusts the clock.
pub(in super::super) fn adjustment(get: GetAdjustment) -> io::Result<(u64, u64, bool)> {
    let (mut in_force, mut nominal, mut disabled) = (0, 0, 0);
    // SAFETY: the pointers are valid for the call; the function is the one of this name.
    succeeded(unsafe { get(&raw mut in_force, &raw mut nominal, &raw mut disabled) })?;
    Ok((in_force, nominal, disabled != 0))
}

pub(in super::super) fn set_adjustment(set: SetAdjustment, adjustment: u64) -> io::Result<()> {
    // SAFETY: takes plain numbers; the function is the one of this name.
    succeeded(unsafe { set(adjustment, 0) })
}

/// A count of 100 ns since 1601 as calendar fields, in whole milliseconds.
pub(in super::super) fn calendar(time: u64) -> io::Result<SYSTEMTIME> {
    let time = FILETIME {
        dwLowDateTime: time as u32,
        dwHighDateTime: (time >> 32) as u32,
    };
    let mut fields = SYSTEMTIME::default();
    // SAFETY: both pointers are valid for the call.
    succeeded(unsafe { FileTimeToSystemTime(&raw const time, &raw mut fields) })?;
    Ok(fields)
}

/// Sets the real-time clock, in UTC.
pub(in super::super) fn set_system_time(time: &SYSTEMTIME) -> io::Result<()> {
    // SAFETY: the pointer is valid for the call.
    succeeded(unsafe { SetSystemTime(time) })
}

fn own_token(access: u32) -> io::Result<OwnedHandle> {
    let mut token = ptr::null_mut();
    // SAFETY: gives a constant that needs no closing.
    let process = unsafe { GetCurrentProcess() };
    // SAFETY: the handle is this process's; the pointer is valid for the call.
    succeeded(unsafe { OpenProcessToken(process, access, &raw mut token) })?;
    // SAFETY: the call made it, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(token) })
}

/// Switches a privilege of this process on; its name ends with a zero.
pub(in super::super) fn enable_privilege(name: &[u16]) -> io::Result<()> {
    assert_eq!(name.last(), Some(&0));
    let token = own_token(TOKEN_ADJUST_PRIVILEGES | TOKEN_QUERY)?;
    let mut luid = LUID::default();
    // SAFETY: the name ends with a zero; the pointer is valid.
    succeeded(unsafe { LookupPrivilegeValueW(ptr::null(), name.as_ptr(), &raw mut luid) })?;
    let wanted = TOKEN_PRIVILEGES {
        PrivilegeCount: 1,
        Privileges: [LUID_AND_ATTRIBUTES {
            Luid: luid,
            Attributes: SE_PRIVILEGE_ENABLED,
        }],
    };
    // SAFETY: the structure is whole; no answer is asked for.
    succeeded(unsafe {
        AdjustTokenPrivileges(
            token.as_raw_handle(),
            0,
            &raw const wanted,
            0,
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })?;
    // it succeeds too if the process does not have the privilege
    // SAFETY: reads a number of this thread.
    match unsafe { GetLastError() } {
        ERROR_NOT_ALL_ASSIGNED => Err(io::Error::from_raw_os_error(ERROR_NOT_ALL_ASSIGNED as i32)),
        _ => Ok(()),
    }
}

/// The security identifier of the user that this process belongs to, as it lies in memory.
pub(in super::super) fn user() -> io::Result<Vec<u8>> {
    let token = own_token(TOKEN_QUERY)?;
    // a SID has at most 68 octets; the numbers keep the alignment
    let mut room = [0_usize; 32];
    let mut length = 0;
    let size = mem::size_of_val(&room) as u32;
    let answer = room.as_mut_ptr().cast::<c_void>();
    // SAFETY: the room is as long as said, and aligned for the structure.
    succeeded(unsafe {
        GetTokenInformation(
            token.as_raw_handle(),
            TokenUser,
            answer,
            size,
            &raw mut length,
        )
    })?;
    // SAFETY: the call has put the structure there, and the SID that it points to behind it.
    let sid = unsafe { (*room.as_ptr().cast::<TOKEN_USER>()).User.Sid };
    // SAFETY: the SID is valid.
    let length = unsafe { GetLengthSid(sid) } as usize;
    // SAFETY: it is as long as it says, and lies in the room.
    Ok(unsafe { std::slice::from_raw_parts(sid.cast::<u8>(), length) }.to_vec())
}

/// Whether a service runs; its name ends with a zero.
pub(in super::super) fn is_service_running(name: &[u16]) -> bool {
    assert_eq!(name.last(), Some(&0));
    // SAFETY: no names are given; nothing but connecting is asked for.
    let manager = unsafe { OpenSCManagerW(ptr::null(), ptr::null(), SC_MANAGER_CONNECT) };
    if manager.is_null() {
        return false;
    }
    // SAFETY: the manager is open; the name ends with a zero.
    let service = unsafe { OpenServiceW(manager, name.as_ptr(), SERVICE_QUERY_STATUS) };
    let mut status = SERVICE_STATUS::default();
    // SAFETY: the service is open; the pointer is valid.
    let answered =
        !service.is_null() && unsafe { QueryServiceStatus(service, &raw mut status) } != 0;
    for handle in [service, manager] {
        if !handle.is_null() {
            // SAFETY: it is open, and not used any more.
            unsafe { CloseServiceHandle(handle) };
        }
    }
    answered && status.dwCurrentState == SERVICE_RUNNING
}
