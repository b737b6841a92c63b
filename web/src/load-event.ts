// Delays the load event of the page until its first content is complete.
//
// A browser may print a page at its load event, as headless Chromium does with `--print-to-pdf`. Without
// the delay it would print “Loading…”. An iframe whose document stays open delays the event.

/** The maximum delay in ms. A slow server must not delay the event forever. */
const MAX_DELAY = 10_000;

let pending = 0;
let frame: HTMLIFrameElement | undefined;

function delay(): void {
  frame = document.createElement('iframe');
  frame.hidden = true;
  document.body.append(frame);
  frame.contentDocument?.open();
  setTimeout(release, MAX_DELAY);
}

function release(): void {
  frame?.contentDocument?.close();
  frame?.remove();
  frame = undefined;
}

/** Delays the load event until the returned function is called; does nothing after the event. */
export function delayLoadEvent(): () => void {
  if (document.readyState === 'complete') return () => {};
  if (pending === 0) delay();
  pending += 1;
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    // Content that has just been loaded may load further content first.
    setTimeout(() => {
      pending -= 1;
      if (pending === 0) release();
    });
  };
}
