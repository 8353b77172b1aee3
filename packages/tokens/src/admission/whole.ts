/** A count as stores keep it: whole, from 0, and such that it is exact. Upstreams say what they like. */
export const whole = (count: number): number => (count > 0 ? Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER) : 0)
