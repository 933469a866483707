#include "jail/loopback.h"

#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>

static int set_up(struct nl_sock *sock, struct error *err)
{
    struct rtnl_link *link = NULL, *change = rtnl_link_alloc();
    int r = change ? rtnl_link_get_kernel(sock, 0, "lo", &link) : -NLE_NOMEM;
    if (r >= 0) {
        rtnl_link_set_flags(change, IFF_UP);
        r = rtnl_link_change(sock, link, change, 0);
    }
    rtnl_link_put(link);
    rtnl_link_put(change);
    return r < 0 ? error_set(err, "network.loopback", 0, "lo cannot be brought up: %s", nl_geterror(r)) : 0;
}

int loopback_up(struct error *err)
{
    struct nl_sock *sock = nl_socket_alloc();
    if (!sock)
        return error_set(err, "network.loopback", 0, "out of memory");
    int r = nl_connect(sock, NETLINK_ROUTE);
    int ret = r < 0 ? error_set(err, "network.loopback", 0, "no netlink socket: %s", nl_geterror(r)) : set_up(sock, err);
    nl_socket_free(sock);
    return ret;
}
