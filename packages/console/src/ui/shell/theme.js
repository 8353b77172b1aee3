try {
  const t = localStorage.getItem('modelgate-theme')
  if (t === 'light' || t === 'dark') document.documentElement.dataset.theme = t
} catch {}
