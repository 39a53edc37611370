//! A headless Chromium, driven over the pipes of its `DevTools` protocol.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::needs::{needs, works};

/// The names of Chromium in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Returns the name of the installed Chromium, or `None` if none of [`NAMES`] is installed.
fn name() -> Option<&'static str> {
    NAMES.into_iter().find(|name| works(name))
}

/// A browser with one page.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// The session of the page, or `None` until it is attached.
    session: Option<String>,
    sent: u64,
    /// The exceptions of the page's scripts.
    pub errors: Vec<Value>,
    /// The directory of the browser's profile.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Returns whether a browser is installed. If not, reports that the running test is skipped:
    /// the caller must return.
    pub fn is_there() -> bool {
        needs(&[name().unwrap_or(NAMES[0])])
    }

    /// Starts the browser with a window of this size, in pixels.
    ///
    /// # Panics
    /// If no browser is installed.
    pub fn start(width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a directory for the browser");
        let name = name().expect("the test asks for one before");
        // The browser reads commands from descriptor 3, and writes responses to 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null", "sh"])
            .arg(name)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width},{height}"))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut browser = Self {
            commands: process.stdin.take().expect("it is a pipe"),
            answers: BufReader::new(process.stdout.take().expect("it is a pipe")),
            process,
            session: None,
            sent: 0,
            errors: Vec::new(),
            _profile: profile,
        };
        let targets = browser.call("Target.getTargets", &json!({}));
        let targets = targets["targetInfos"].as_array().expect("a list").clone();
        let page = targets.iter().find(|it| it["type"] == "page");
        let target = &page.expect("the page")["targetId"];
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.call("Runtime.enable", &json!({}));
        browser.call("Page.enable", &json!({}));
        browser
    }

    /// Executes a command of the protocol, and returns its result.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(session) = &self.session {
            command["sessionId"] = session.clone().into();
        }
        write!(self.commands, "{command}\0").expect("the browser listens");
        loop {
            let mut line = Vec::new();
            self.answers.read_until(0, &mut line).expect("an answer");
            line.pop();
            let answer: Value = serde_json::from_slice(&line).expect("the browser answers");
            if answer["method"] == "Runtime.exceptionThrown" {
                self.errors.push(answer["params"].clone());
            }
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Opens a file, and waits until its scripts have run.
    pub fn open(&mut self, file: &Path, hash: &str) {
        let url = format!("file://{}{hash}", file.display());
        self.call("Page.navigate", &json!({ "url": url }));
        while self.eval("document.readyState") != "complete" {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the value of an expression.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", &params);
        let thrown = answer.get("exceptionDetails");
        assert!(thrown.is_none(), "{expression}: {thrown:?}");
        answer["result"]["value"].clone()
    }

    /// Returns the text of the first element that a selector matches.
    pub fn text(&mut self, selector: &str) -> String {
        let text = self.eval(&format!("document.querySelector({selector:?}).textContent"));
        text.as_str().unwrap_or_default().to_owned()
    }

    /// Presses a key, as a user does.
    pub fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let down = json!({ "type": "keyDown", "key": key, "text": text });
        self.call("Input.dispatchKeyEvent", &down);
        let up = json!({ "type": "keyUp", "key": key });
        self.call("Input.dispatchKeyEvent", &up);
    }

    /// Types text into the focused element.
    pub fn type_in(&mut self, text: &str) {
        for key in text.chars() {
            self.press(&key.to_string());
        }
    }

    /// Clicks on the first element that a selector matches.
    pub fn click(&mut self, selector: &str) {
        let place = self.eval(&format!(
            "(() => {{ const it = document.querySelector({selector:?}).getBoundingClientRect(); \
             return [it.x + it.width / 2, it.y + it.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1
            });
            self.call("Input.dispatchMouseEvent", &params);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
