(() => {
  const find = document.getElementById('find');
  const all = [...document.querySelectorAll('[data-find]')];
  const groups = [...document.querySelectorAll('nav .group, main > section')];
  const none = document.getElementById('none');
  const apply = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const e of all) e.hidden = !words.every((w) => e.dataset.find.includes(w));
    for (const g of groups) g.hidden = !g.querySelector('[data-find]:not([hidden])');
    none.hidden = groups.some((g) => !g.hidden);
  };
  find.addEventListener('input', apply);
  document.addEventListener('keydown', (e) => {
    if (e.key === '/' && document.activeElement !== find && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      find.focus();
      find.select();
    } else if (e.key === 'Escape' && document.activeElement === find) {
      find.value = '';
      apply();
      find.blur();
    }
  });
  let opened = [];
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('details:not([open])')];
    for (const d of opened) d.open = true;
  });
  addEventListener('afterprint', () => { for (const d of opened) d.open = false; });
  apply();
})();
