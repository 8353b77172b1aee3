if (!location.pathname.endsWith('/')) {
  stop()
  location.replace(`${location.pathname}/${location.search}${location.hash}`)
}
