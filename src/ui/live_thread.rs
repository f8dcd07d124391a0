//! The thread of the live screen: it alone draws and reads keys while the run goes on. News come to it by a channel; orders go back by
//! [`UserOrders`] and by the count of interrupts that Ctrl-C raises too. Whatever fails here ends the screen alone: the run goes on with lines.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use signal_hook::consts::SIGTSTP;
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

use super::frame;
use super::live_run::{LiveNews, LiveRun, Panel};
use super::outlook::OutlookPace;
use super::terminal;
use super::user_orders::UserOrders;
use volproof_device::output::screen::{self, has_micro};

/// Time between frames.
const FRAME: Duration = Duration::from_millis(250);
/// How often keys and signals are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long the end of the thread is waited for: a terminal that takes no more must not hold up the run.
const PATIENCE: Duration = Duration::from_secs(2);
/// The thread gives way to the load.
const NICE: i32 = 19;

/// The live screen, as the pipeline holds it.
pub struct LiveThread {
    news: Sender<LiveNews>,
    orders: Arc<UserOrders>,
    kept: Receiver<Vec<String>>,
    thread: Option<JoinHandle<()>>,
}

impl LiveThread {
    /// Takes the terminal and begins to draw.
    ///
    /// # Errors
    /// Errors of the system; the terminal is as before.
    pub fn start(interrupts: Arc<AtomicUsize>) -> io::Result<LiveThread> {
        let (news, inbox) = channel();
        let (keep, kept) = channel();
        let orders = Arc::new(UserOrders::default());
        let closed = Arc::new(AtomicBool::new(false));
        let suspend = catch_suspend(&closed)?;
        if !terminal::has_drawable_size()? {
            return Err(io::Error::other("the terminal says that it is larger than any screen"));
        }
        let taken = terminal::take().and_then(|_| Terminal::new(terminal::backend()?));
        let drawn = taken.inspect_err(|_| terminal::give_back())?;
        let mut drawing = Drawing {
            inbox,
            screen: drawn,
            orders: orders.clone(),
            interrupts,
            suspend,
            run: LiveRun {
                colours: terminal::has_colours(),
                micro: has_micro(&io::stdout()),
                ..LiveRun::default()
            },
            pace: OutlookPace::default(),
        };
        let body = move || {
            let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICE);
            let end = drawing.go_on();
            screen::lines_go_to(None);
            drawing.take_news();
            let Drawing { screen: drawn, run, .. } = drawing;
            let mut said = run.said;
            match end {
                Ok(()) => drop(drawn),
                Err(why) => {
                    said.push(format!("The live screen has ended ({why}); the run goes on."));
                    // Its drop would complain of a cursor that it cannot show.
                    std::mem::forget(drawn);
                }
            }
            terminal::give_back();
            closed.store(true, Ordering::Relaxed);
            let _ = keep.send(said);
        };
        let line = news.clone();
        screen::lines_go_to(Some(Box::new(move |text| {
            let _ = line.send(LiveNews::Said(text.into()));
        })));
        let thread = Builder::new().name(terminal::DRAWS.into()).spawn(body).inspect_err(|_| {
            screen::lines_go_to(None);
            terminal::give_back();
        })?;
        Ok(LiveThread { news, orders, kept, thread: Some(thread) })
    }

    /// Tells news. A screen that is gone hears nothing.
    pub fn tell(&self, news: LiveNews) {
        let _ = self.news.send(news);
    }

    /// The screen has failed, and is no more.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Orders of the user.
    pub fn orders(&self) -> &UserOrders {
        &self.orders
    }

    /// Gives the terminal back, and returns the lines that stay.
    pub fn close(&mut self) -> Vec<String> {
        let Some(thread) = self.thread.take() else { return Vec::new() };
        screen::lines_go_to(None);
        self.tell(LiveNews::Close);
        let kept = self.kept.recv_timeout(PATIENCE);
        // A thread that has said its last ends at once; one that has not waits for a terminal, and is left behind.
        if kept.is_ok() || thread.is_finished() {
            let _ = thread.join();
        }
        terminal::give_back();
        // The report follows the window, which may have another size now.
        screen::ask_width();
        kept.unwrap_or_default()
    }
}

impl Drop for LiveThread {
    fn drop(&mut self) {
        self.close();
    }
}

/// The signal that suspends the program: the terminal is given back first.
fn catch_suspend(closed: &Arc<AtomicBool>) -> io::Result<Arc<AtomicBool>> {
    let seen = Arc::new(AtomicBool::new(false));
    // Once the screen is closed the signal does what it always does.
    flag::register_conditional_default(SIGTSTP, closed.clone())?;
    flag::register(SIGTSTP, seen.clone())?;
    Ok(seen)
}

struct Drawing {
    inbox: Receiver<LiveNews>,
    screen: Terminal<ratatui::backend::CrosstermBackend<io::BufWriter<std::fs::File>>>,
    orders: Arc<UserOrders>,
    interrupts: Arc<AtomicUsize>,
    /// The user wants the program to stand still.
    suspend: Arc<AtomicBool>,
    run: LiveRun,
    pace: OutlookPace,
}

impl Drawing {
    /// Draws until the run is over.
    ///
    /// # Errors
    /// The terminal has gone away, or takes no frame.
    fn go_on(&mut self) -> io::Result<()> {
        let mut next = Instant::now();
        while self.take_news() {
            self.mind_signals();
            let pressed = terminal::is_taken() && self.obey_keys()?;
            let now = Instant::now();
            if !terminal::is_taken() {
                std::thread::sleep(LOOK);
            } else if pressed || now >= next {
                next = now + FRAME;
                self.show(now)?;
            }
        }
        Ok(())
    }

    /// Takes what has come; false where the screen is to close.
    fn take_news(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Ok(LiveNews::Close) | Err(TryRecvError::Disconnected) => return false,
                Ok(news) => self.run.take(news),
                Err(TryRecvError::Empty) => return true,
            }
        }
    }

    fn show(&mut self, now: Instant) -> io::Result<()> {
        if self.pace.is_due(now) {
            self.run.look_ahead();
            self.pace.took(now, Instant::now());
        }
        self.run.stopping = self.interrupts.load(Ordering::Relaxed) > 0;
        if !terminal::has_drawable_size()? {
            return Ok(());
        }
        let (screen, run) = (&mut self.screen, &self.run);
        terminal::draw(|| screen.draw(|frame| frame::draw(frame, run)).map(drop))
    }

    /// Suspends the program where the user wants that; the screen is there again when it goes on in the foreground.
    fn mind_signals(&mut self) {
        if self.suspend.swap(false, Ordering::Relaxed) {
            terminal::give_back();
            let _ = emulate_default_handler(SIGTSTP);
        }
        let is_back = !terminal::is_taken()
            && terminal::is_foreground()
            && terminal::has_drawable_size().unwrap_or(false);
        if is_back && terminal::take().unwrap_or(false) {
            // A new one draws all cells. Clearing the old one would ask the terminal for the place of its cursor.
            if let Ok(screen) = terminal::backend().and_then(Terminal::new) {
                self.screen = screen;
            }
        }
    }

    /// Waits a moment for keys, and does what they ask for; true when the screen has something new to show.
    ///
    /// # Errors
    /// The terminal cannot be read.
    fn obey_keys(&mut self) -> io::Result<bool> {
        let keys = terminal::pressed_keys(LOOK)?;
        for &key in &keys {
            self.obey(key);
        }
        Ok(!keys.is_empty())
    }

    /// Scrolls the doubts by a line or a page.
    fn scroll(&mut self, key: char) {
        let Ok(size) = self.screen.size() else { return };
        let most = frame::most_scroll_of_doubts(&self.run, size.width, size.height);
        let page = usize::from(size.height.saturating_sub(3));
        let lines = if key == ' ' || key == 'b' { page } else { 1 };
        let now = self.run.scroll.min(most);
        let is_down = key == 'j' || key == ' ';
        self.run.scroll = if is_down { (now + lines).min(most) } else { now.saturating_sub(lines) };
    }

    fn obey(&mut self, key: char) {
        let run = &mut self.run;
        let turned = |now: Panel, to: Panel| if now == to { Panel::Run } else { to };
        match key {
            terminal::ESCAPE => run.panel = Panel::Run,
            'q' => {
                self.interrupts.fetch_max(1, Ordering::Relaxed);
            }
            'n' if run.stage.is_some() => self.orders.end_step(),
            'd' => {
                run.panel = turned(run.panel, Panel::Doubts);
                run.scroll = 0;
            }
            'j' | 'k' | ' ' | 'b' if run.panel == Panel::Doubts => self.scroll(key),
            '?' | 'h' => run.panel = turned(run.panel, Panel::Help),
            _ => {}
        }
    }
}
