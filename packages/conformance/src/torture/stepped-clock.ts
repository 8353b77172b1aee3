/**
 * Makes this process's time of day one that can be set, as an administrator or NTP sets a machine's: `Date` shifts, timers and
 * `performance.now` do not.
 *
 * @returns sets it ahead by so many milliseconds, or back
 */
export function installSteppedClock(): (ms: number) => void {
  const RealDate = Date
  let offset = 0
  const now = (): number => RealDate.now() + offset
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) => Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name, receiver) => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  })
  return (ms) => {
    offset += ms
  }
}
