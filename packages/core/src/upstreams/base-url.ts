/**
 * A base URL as the user wrote it, without trailing slashes and without `drop` at its end, so that addresses with and
 * without the version both work. Throws a TypeError with the fix if it is no http(s) URL.
 */
export function cleanBaseURL(baseURL: string, drop = ''): string {
  let url: URL
  try {
    url = new URL(baseURL)
  } catch {
    throw new TypeError(`baseURL '${baseURL}' is not a URL: write it whole, as in 'https://host/v1'`)
  }
  if (url.username !== '' || url.password !== '')
    throw new TypeError("baseURL holds a name or a password: give them as headers, { authorization: 'Basic …' }")
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError(`baseURL '${baseURL}' must start with http:// or https://`)
  if (url.search !== '' || url.hash !== '')
    throw new TypeError(`baseURL '${url.origin}${url.pathname}' must not hold a query or a fragment`)
  let clean = baseURL
  while (clean.endsWith('/')) clean = clean.slice(0, -1)
  return drop !== '' && clean.endsWith(drop) ? clean.slice(0, -drop.length) : clean
}
