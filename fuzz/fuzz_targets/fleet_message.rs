//! Messages of other machines of a fleet: any bytes are a message or none, and a message is the same after it was sent on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use volproof::fleet::message::FleetMessage;

fuzz_target!(|bytes: &[u8]| {
    if let Some(message) = FleetMessage::of_bytes(bytes) {
        let sent = message.to_bytes();
        let again = FleetMessage::of_bytes(&sent).expect("a message");
        assert_eq!(again.to_bytes(), sent);
    }
});
