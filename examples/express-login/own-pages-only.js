/**
 * Turns away what pages of other sites send with a user's cookie (cross-site request forgery). Browsers say where a request
 * comes from; what says nothing is no browser, and has no cookie that it was not given.
 * @param {import('express').Request} req @param {import('express').Response} res @param {() => void} next
 */
export function ownPagesOnly(req, res, next) {
  const site = req.get('sec-fetch-site')
  const origin = req.get('origin')
  const isOwn =
    req.method === 'GET' ||
    req.method === 'HEAD' ||
    (site === undefined
      ? // An older browser, or one that reaches us by plain http.
        origin === undefined || (URL.canParse(origin) && new URL(origin).host === req.get('host'))
      : site === 'same-origin' || site === 'none')
  if (isOwn) next()
  else res.status(403).type('text').send('This was sent by a page of another site.')
}
