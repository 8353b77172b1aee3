/** Returns the problem of a base URL, with the fix, as a list of none or one. */
export function baseUrlProblem(baseURL: unknown): string[] {
  if (typeof baseURL !== 'string')
    return [
      `baseURL is ${baseURL === undefined ? 'undefined' : `a ${typeof baseURL}`}: write a URL, as in 'https://host/v1'`,
    ]
  let url: URL
  try {
    url = new URL(baseURL)
  } catch {
    return [`baseURL '${baseURL}' is not a URL: write it in full, as in 'https://host/v1'`]
  }
  if (url.username !== '' || url.password !== '')
    return ["baseURL holds a name or a password: give them as headers, { authorization: 'Basic …' }"]
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return [`baseURL '${baseURL}' must start with http:// or https://`]
  if (url.search !== '' || url.hash !== '')
    return [`baseURL '${url.origin}${url.pathname}' must not hold a query or a fragment`]
  return []
}

/** Returns a base URL without trailing slashes and without `drop` at its end: addresses with and without the version both work. */
export function cleanBaseURL(baseURL: string, drop = ''): string {
  let clean = baseURL
  while (clean.endsWith('/')) clean = clean.slice(0, -1)
  return drop !== '' && clean.endsWith(drop) ? clean.slice(0, -drop.length) : clean
}
