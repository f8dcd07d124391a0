//! Devices whose only opener is on its way from a process to another: it is in no table of descriptors, so that the test runs alone.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use crate::guard::rig::{Rig, device_refused};

/// A descriptor that was sent and not received yet is in no table of descriptors.
#[test]
fn a_device_whose_only_opener_is_on_its_way_through_a_socket_is_refused() {
    let Some(mut rig) = Rig::alone() else { return };
    let image = rig.image("sent.img", 4);
    let device = rig.loop_over(&image, &[]);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    send(&ours, &OpenOptions::new().read(true).write(true).open(&device).unwrap());
    let holder =
        Command::new("sleep").arg("600").stdin(OwnedFd::from(ours)).stdout(OwnedFd::from(theirs)).spawn();
    rig.keep(holder.unwrap());
    device_refused(&rig, &device, &image, "an open file on the way through a socket");
}

/// Sends an open file through a socket.
fn send(through: &std::os::unix::net::UnixStream, file: &File) {
    let mut byte = *b"x";
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut control = [0u64; 8];
    // SAFETY: the header is zeros but for pointers to the byte and to the control message, which has room for one descriptor and is aligned.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(file.as_raw_fd());
        libc::sendmsg(through.as_raw_fd(), &message, 0)
    };
    assert_eq!(sent, 1);
}
