/** The port used on all pages. */
export const pagePort = 8787

/** Returns a .curlrc that maps the pages' port to another one and fails on status 400 or above. @param {number} port */
export const curlSettings = (port) =>
  [
    'silent',
    'show-error',
    'fail-with-body',
    ...['localhost', '127.0.0.1'].map((host) => `connect-to = "${host}:${pagePort}:127.0.0.1:${port}"`),
    '',
  ].join('\n')
