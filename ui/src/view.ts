// The period that all lanes show. One of it; lanes and links move it and listen to it.

export interface Range {
  from: number;
  to: number;
}

/** Nothing on the timeline is finer than a microsecond; closer in there is only emptiness. */
const NARROWEST_NS = 1_000;

export class View {
  private listeners = new Set<() => void>();
  private range: Range;
  private scheduled = false;

  /** `home` is all that can be shown, `opening` what is shown first. */
  constructor(
    readonly home: Range,
    readonly opening: Range = home,
  ) {
    this.range = { ...opening };
  }

  /** Whether it shows what it showed first. */
  get isOpening(): boolean {
    return Math.abs(this.from - this.opening.from) < 1 && Math.abs(this.to - this.opening.to) < 1;
  }

  get from(): number {
    return this.range.from;
  }

  get to(): number {
    return this.range.to;
  }

  get width(): number {
    return this.range.to - this.range.from;
  }

  /** Calls back after the view has moved, at most once a frame. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Shows a range, kept within the whole and not narrower than a microsecond. */
  show(from: number, to: number): void {
    const whole = this.home.to - this.home.from;
    const width = Math.min(whole, Math.max(NARROWEST_NS, Math.abs(to - from)));
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - width / 2, this.home.from), this.home.to - width);
    this.range = { from: start, to: start + width };
    this.changed();
  }

  /** Zooms by a factor (above 1: closer) around a moment, which stays where it is. */
  zoom(factor: number, at: number): void {
    const width = Math.min(this.home.to - this.home.from, Math.max(NARROWEST_NS, this.width / factor));
    const share = (at - this.from) / this.width;
    const from = at - share * width;
    this.show(from, from + width);
  }

  /** Moves by a share of its width. */
  pan(share: number): void {
    const by = share * this.width;
    this.show(this.from + by, this.to + by);
  }

  /** Back to what was shown first. */
  reset(): void {
    this.range = { ...this.opening };
    this.changed();
  }

  /** All that there is, also what lies outside of the recording. */
  showAll(): void {
    this.show(this.home.from, this.home.to);
  }

  /** Redraws everything although the range is the same (another theme, another width). */
  changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const notify = (): void => {
      this.scheduled = false;
      for (const listener of this.listeners) listener();
    };
    if (typeof requestAnimationFrame === "function") requestAnimationFrame(notify);
    else notify();
  }
}
