/** Whether a name and a value can be sent as a header. One that cannot would fail the call, and look as if the other side had. */
export const isHeader = ([name, value]: readonly [string, unknown]): boolean =>
  /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) && typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
